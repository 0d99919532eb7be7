// Package schedule starts flows at instants that were agreed on beforehand: one
// execution for each [Occurrence] of a schedule, however many nodes start it and however
// often.
//
// What keeps an occurrence single is its id alone, "<schedule>@<instant>": every node
// spells it in the same way, and the store takes one start of an id. No lock is held, no
// token is taken and no leader is chosen; a node that comes second is told that the
// occurrence is there, and goes on to the next.
//
//	started, err := schedule.Start(ctx, rt, occurrence, Report, in)
//
// When a schedule has its occurrences is not this package's business: it is given them.
package schedule
