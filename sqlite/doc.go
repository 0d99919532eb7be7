// Package sqlite keeps Loom's executions in one SQLite file: everything that a
// machine needs, for one process or several.
//
//	rt, err := loom.Open(ctx, sqlite.Open("app.db"), loom.Flows(Checkout))
//
// [Open] names a file; the file is opened, created (mode 0600) and migrated when
// the runtime opens it. What is opened is a [DB], which implements every part of
// store.Store that this package has: Log, Index, Leaser, Inbox, Records, Deleter,
// Hints and About.
//
// # Durability
//
// The file is in WAL mode with synchronous=FULL: a commit is answered after it
// was forced to disk. [MayLoseLastCommits] trades that for speed. Each process
// writes through one goroutine, which takes everything that waits into one
// transaction; lease renewals overtake. Within such a flush each request has its
// own verdict: if a statement of one fails, the flush is undone and its requests
// run again, each in a transaction of its own.
//
// # Several processes
//
// Any number of processes on one machine may open the same file. Every request
// is judged inside the write transaction on the row as it is there, nothing is
// remembered between transactions. Do not open the same file with a second
// SQLite library in one process, do not copy it while it is open, and keep it off
// network file systems: each of these can break SQLite's locks.
//
// # Nodes and clocks
//
// The store's clock is the machine's. Because that one can jump, each node also
// holds an OS lock on "<file>.<node>.lock" while its process lives. A free lock
// is a dead node, at once. A node whose lock is held and whose lease is over is
// taken for dead only after this process has watched that same lease for a whole
// ttl of monotonic time without a renewal: a jump of hours kills nobody, a
// stopped process can still be replaced. Where there is no flock (see lock_other.go)
// the lease alone decides.
//
// # Foreign tables
//
// All tables, indexes and triggers are named loom_…; the file may hold an
// application's own tables, which are never touched, nor are user_version and
// application_id. The journal mode of the file does become WAL.
package sqlite
