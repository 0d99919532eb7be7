// Package demo is the job that "loom demo" does: it audits a directory tree
// durably, in a worker process that is killed with SIGKILL on the way and started
// again, and then shows from two witnesses that nothing was lost or done twice
// without need.
//
// The witnesses are the log of the execution, and a ledger: a file outside the
// database to which every effect appends a line when it is called and one when it
// is done. What the demo prints is counted from these two.
//
// The process that the person started is the conductor ([Run]): it starts the
// worker ([Work]), watches the ledger, kills, starts again. One conductor an id;
// a second one on the same database waits for the first and reports the same work.
package demo

// InFlight is how many file effects run at once: the number of branches that take
// files from the list.
const InFlight = 16
