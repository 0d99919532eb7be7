package sqlite

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/loomwork/loom/store"
)

// Bounds of one flush: so much may be lost to a neighbour's failure and run
// again, and so long waits whoever comes just after its start.
const (
	flushRequests = 1000
	flushBytes    = 16 << 20
)

// The log is written back when nothing has come for idleAfter and at least
// idleBytes were committed since that was done last.
const (
	idleAfter = 200 * time.Millisecond
	idleBytes = 4 << 20
)

// writer makes transactions of what callers put into its queue: all that waits
// becomes one, lease renewals first and by themselves.
//
// Whoever holds drive does so. As long as there is a queue that is the writer's
// goroutine; a caller who finds nobody driving drives for its own job, because to
// wake a goroutine and be woken by it costs more than the statements of a commit.
type writer struct {
	db *DB

	drive sync.Mutex // lock order: drive before mu
	flusher

	mu struct {
		sync.Mutex
		urgent  []*job
		waiting []*job
		closed  bool
	}
	wake chan struct{} // capacity 1: the goroutine has something to look at
	done chan struct{} // closed when the goroutine has ended
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

func newWriter(db *DB, f flusher) *writer {
	w := &writer{db: db, flusher: f, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.loop()
	return w
}

// put queues j, and perhaps carries it out. It reports false, and does nothing,
// after close.
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
	if !w.drive.TryLock() {
		w.signal()
		return true
	}
	// Let callers that are ready to run put theirs in as well. It costs nothing
	// when there are none; a linger would.
	runtime.Gosched()
	more := true
	if jobs := w.take(); !w.flush(jobs, false) {
		w.back(jobs)
	} else {
		more = w.queued()
	}
	if w.unsaved >= idleBytes && !w.told {
		w.told, more = true, true // so that it waits for a quiet moment
	}
	w.drive.Unlock()
	if more {
		w.signal()
	}
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
	if !j.wait(ctx) {
		return context.Cause(ctx)
	}
	return w.db.wrap(op, j.err)
}

// wait reports whether j was answered before ctx ended. An answer that is there
// counts, however late it is looked at.
func (j *job) wait(ctx context.Context) bool {
	select {
	case <-j.done:
		return true
	default:
	}
	select {
	case <-j.done:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *writer) loop() {
	defer close(w.done)
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	for {
		select {
		case <-w.wake:
			runtime.Gosched() // as in put
		case <-idle.C:
		}
		w.drive.Lock()
		for {
			jobs := w.take()
			if len(jobs) == 0 {
				break
			}
			w.flush(jobs, true)
		}
		if w.unsaved >= idleBytes {
			if quiet := idleAfter - time.Since(w.flushed); quiet > 0 {
				idle.Reset(quiet)
			} else {
				_ = w.checkpoint("PASSIVE") // a failure is left for the next one
			}
		}
		w.drive.Unlock()
		if w.ended() {
			return
		}
	}
}

// take removes from the queue what the next flush is made of.
func (w *writer) take() (jobs []*job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.mu.urgent) > 0 {
		jobs, w.mu.urgent = w.mu.urgent, nil
		return jobs
	}
	n, requests, bytes := 0, 0, 0
	for n < len(w.mu.waiting) && requests < flushRequests && bytes < flushBytes {
		requests += max(1, len(w.mu.waiting[n].reqs))
		bytes += w.mu.waiting[n].bytes
		n++
	}
	jobs = w.mu.waiting[:n:n]
	if w.mu.waiting = w.mu.waiting[n:]; len(w.mu.waiting) == 0 {
		w.mu.waiting = nil
	}
	return jobs
}

// back puts jobs in again, before all others.
func (w *writer) back(jobs []*job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.waiting = slices.Concat(jobs, w.mu.waiting)
}

func (w *writer) queued() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.mu.urgent)+len(w.mu.waiting) > 0
}

// ended reports whether the queue is empty and stays so.
func (w *writer) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.closed && len(w.mu.urgent)+len(w.mu.waiting) == 0
}

// close answers what waits, checkpoints and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	w.mu.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.done
	w.drive.Lock()
	defer w.drive.Unlock()
	// Other processes may be at it, then one of them does it later; all that it
	// would save is there in the log.
	_ = w.checkpoint("TRUNCATE")
	if w.conn == nil {
		return nil
	}
	return w.conn.Close()
}

// errBusyNow is what a flush that may not wait is answered.
var errBusyNow = errors.New("another process is writing")
