// Command bench measures Loom's workloads, W1 to W5, on each store, beside what the
// same store could do at most: the raw limit, measured in the same run on the same
// disk.
//
//	make bench                                  everything, about three minutes
//	cd bench && go run . -only W1,W2 -runs 1 -stores sqlite-full
//	cd bench && go run . -peers peers           with other engines beside it, see README.md
//
// # The nouns
//
// A lab is one run over one store: it opens fresh stores and measures [workload]s. What
// it measures are figures, each with a name and a unit, kept in a [sheet] with one value
// a run; what is printed is the median. A [goal] compares a figure, or two of one run,
// with a bar. A peer is another engine that a program of its own measures.
//
// # How to read it
//
// Ratios hold from machine to machine, absolute figures do not: a busy disk slows the
// raw limit down as well. A goal that is not met is printed as not met, and does not
// change the exit code; a wrong count does (a body that ran twice, a start that was not
// refused, a sleeper that woke early), because that is no matter of speed.
//
// Each workload gets a new database file, and each run all of the workloads, so that a
// slow minute of the disk is one run's and not one workload's. The memory store does five
// times the work of W1 and W2, because what these ask for is over there before a clock
// can measure it.
package main
