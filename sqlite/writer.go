package sqlite

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Bounds of one flush: so much may be lost to a neighbour's failure and run
// again, and so long waits whoever comes just after its start.
const (
	flushRequests = 1000
	flushBytes    = 16 << 20
)

// The writer writes the log back when nothing has come for idleAfter and at
// least idleBytes were committed since it did so last.
const (
	idleAfter = 200 * time.Millisecond
	idleBytes = 4 << 20
)

// writer owns the one connection that writes. Its goroutine takes what waits,
// lease renewals first and by themselves, and makes one transaction of it.
type writer struct {
	db   *DB
	conn *sqlite3.Conn // the goroutine's; nil after a failure that made it doubtful
	tx   *tx

	mu struct {
		sync.Mutex
		urgent  []*job
		waiting []*job
		closed  bool
	}
	wake chan struct{} // capacity 1: something was put in, or closed was set
	done chan struct{} // closed when the goroutine has ended

	unsaved int // bytes committed since the last checkpoint, about; the goroutine's
}

// job is one caller's work. Exactly one of reqs and do is set.
type job struct {
	reqs []store.Request
	res  []store.Result

	// do is run inside the transaction, and again if that had to be undone: it
	// overwrites what it answered before. An error from it undoes its transaction.
	do  func(*tx) error
	err error

	bytes int
	done  chan struct{} // closed when res or err is the answer
}

func newWriter(db *DB, c *sqlite3.Conn) *writer {
	w := &writer{db: db, conn: c, wake: make(chan struct{}, 1), done: make(chan struct{})}
	w.tx = &tx{db: db, conn: c}
	go w.loop()
	return w
}

// put queues j. It reports false, and does not, after close.
func (w *writer) put(j *job, urgent bool) bool {
	j.done = make(chan struct{})
	w.mu.Lock()
	if w.mu.closed {
		w.mu.Unlock()
		return false
	}
	if urgent {
		w.mu.urgent = append(w.mu.urgent, j)
	} else {
		w.mu.waiting = append(w.mu.waiting, j)
	}
	w.mu.Unlock()
	w.signal()
	return true
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do runs f in a write transaction and waits. If ctx ends first the error is its
// cause, and f may still run: it must not touch what the caller then owns.
func (w *writer) do(ctx context.Context, op string, urgent bool, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	j := &job{do: f}
	if !w.put(j, urgent) {
		return w.db.errClosed(op)
	}
	select {
	case <-j.done:
		return w.db.wrap(op, j.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *writer) loop() {
	defer close(w.done)
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	for {
		jobs, last := w.take()
		if len(jobs) > 0 {
			w.flush(jobs)
			continue
		}
		if last {
			return
		}
		if w.unsaved >= idleBytes {
			idle.Reset(idleAfter)
			select {
			case <-w.wake:
				w.yield()
			case <-idle.C:
				_ = w.checkpoint("PASSIVE") // a failure is left for the next one
			}
			continue
		}
		<-w.wake
		w.yield()
	}
}

// yield lets writers that are ready to run put their requests in. It costs
// nothing when there are none; a linger would.
func (w *writer) yield() { runtime.Gosched() }

// take removes from the queue what the next flush is made of. last says that the
// queue is empty and stays so.
func (w *writer) take() (jobs []*job, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.mu.urgent) > 0 {
		jobs, w.mu.urgent = w.mu.urgent, nil
		return jobs, false
	}
	n, requests, bytes := 0, 0, 0
	for n < len(w.mu.waiting) && requests < flushRequests && bytes < flushBytes {
		requests += max(1, len(w.mu.waiting[n].reqs))
		bytes += w.mu.waiting[n].bytes
		n++
	}
	jobs = w.mu.waiting[:n:n]
	w.mu.waiting = w.mu.waiting[n:]
	if len(w.mu.waiting) == 0 {
		w.mu.waiting = nil
	}
	return jobs, n == 0 && w.mu.closed
}

// flush answers all jobs.
func (w *writer) flush(jobs []*job) {
	if err := w.db.file.check(); err != nil {
		fail(jobs, err, true)
		return
	}
	definite, err := w.together(jobs)
	switch {
	case err == nil:
		answer(jobs)
	case !definite, hopeless(err), len(jobs) == 1 && len(jobs[0].reqs) <= 1:
		fail(jobs, w.db.wrap("commit", err), definite)
	default:
		w.apart(jobs)
	}
}

// hopeless reports whether trying requests one by one makes no sense, because
// the failure was nobody's own.
func hopeless(err error) bool {
	switch code, _ := classify(err); code {
	case ErrBusy, store.ErrReadOnly, store.ErrVanished, ErrNotADatabase, ErrIO:
		return true
	}
	return false
}

// together runs all jobs in one transaction. On an error nothing of them was
// written, if definite.
func (w *writer) together(jobs []*job) (definite bool, err error) {
	return w.transaction(func() error {
		for _, j := range jobs {
			if j.do != nil {
				if err := j.do(w.tx); err != nil {
					return err
				}
				continue
			}
			for i := range j.reqs {
				var err error
				if j.res[i], err = w.tx.commit(&j.reqs[i]); err != nil {
					return err
				}
			}
			w.unsaved += j.bytes + 4*pageSize
		}
		return nil
	})
}

// apart runs each request in a transaction of its own, so that what is wrong with
// one is its own.
func (w *writer) apart(jobs []*job) {
	for _, j := range jobs {
		if j.do != nil {
			_, err := w.transaction(func() error { return j.do(w.tx) })
			j.err = err
			close(j.done)
			continue
		}
		for i := range j.reqs {
			definite, err := w.transaction(func() (err error) {
				j.res[i], err = w.tx.commit(&j.reqs[i])
				return err
			})
			if err != nil {
				j.res[i] = failure(w.db.wrap("commit", err), definite)
			}
		}
		close(j.done)
	}
}

// transaction runs act between BEGIN IMMEDIATE and COMMIT. An error before the
// COMMIT is definite: nothing was written.
func (w *writer) transaction(act func() error) (definite bool, err error) {
	if w.conn == nil {
		if w.conn, err = connectWriter(w.db.file.path, &w.db.o); err != nil {
			w.conn = nil
			return true, err
		}
		w.tx.conn = w.conn
	}
	err = persist(w.db.o.patience, nil, func() error { return step(w.conn, "BEGIN IMMEDIATE") })
	if err != nil {
		return true, err
	}
	w.tx.begin()
	if err = act(); err == nil {
		if err = step(w.conn, "COMMIT"); err == nil {
			return true, nil
		}
		_, definite = classify(err)
	} else {
		definite = true
	}
	// Some errors have ended the transaction already.
	if !w.conn.AutocommitEnabled() && step(w.conn, "ROLLBACK") != nil || !definite {
		// What this connection believes of the file may be wrong now. The next
		// transaction begins with a new one.
		_ = w.conn.Close() // there is nothing to tell beside err
		w.conn = nil
	}
	return definite, err
}

func answer(jobs []*job) {
	for _, j := range jobs {
		close(j.done)
	}
}

func failure(err error, definite bool) store.Result {
	if definite {
		return store.Result{Outcome: store.Failed, Err: err}
	}
	return store.Result{Outcome: store.Unknown, Err: err}
}

func fail(jobs []*job, err error, definite bool) {
	for _, j := range jobs {
		j.err = err
		for i := range j.res {
			j.res[i] = failure(err, definite)
		}
		close(j.done)
	}
}

// checkpoint copies the log back into the file. Nothing is lost by a failure
// while the log is there.
func (w *writer) checkpoint(mode string) error {
	if err := w.db.file.check(); err != nil {
		return err
	}
	w.unsaved = 0
	if w.conn == nil {
		return nil
	}
	return run(w.conn, "PRAGMA wal_checkpoint("+mode+")")
}

// close answers what waits, checkpoints and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	w.mu.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.done
	// Other processes may be at it, then one of them does it later; all that it
	// would save is there in the log.
	_ = w.checkpoint("TRUNCATE")
	if w.conn == nil {
		return nil
	}
	return w.conn.Close()
}
