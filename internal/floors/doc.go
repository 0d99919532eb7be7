// Package floors holds the rules of the house as tests: who may import whom,
// which packages may touch the clock, how long a file may grow, what carries a
// comment. It has no code of its own to call.
//
// A rule is a function from a [checkout] to what is wrong in it. Each runs
// twice: over this checkout, where it must find nothing, and over a few lines
// made up to break it, where it must find them. A rule that cannot fail is a
// defect of the rule.
//
// The rules read every .go file of every module by its syntax, whatever its
// build tags say, so that a file for another system or a planted defect obeys
// them too.
//
//	make floors
package floors
