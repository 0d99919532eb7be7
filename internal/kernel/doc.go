// Package kernel is the execution machine and its journal: a pure state machine
// with I/O at its edges. In: inbound events and acknowledgements. Out: events to
// commit, effects to call, deadlines to wait for.
//
// The machine works in turns. It takes one inbound event, gives it the next
// sequence, delivers it, runs the ready branches of the body first in, first
// out until none is ready, and gives the commands that they issued the next
// sequences in the order of issue. Replay is the same loop over a recorded log,
// see [Machine.Replay]. Nothing here reads a clock, draws a number, starts a
// goroutine or waits; what the machine needs of the world its shell hands in.
//
// A Machine and its Journal belong to one fiber. While a branch runs, the fiber
// waits for it, so the verbs of a branch need no lock either.
package kernel
