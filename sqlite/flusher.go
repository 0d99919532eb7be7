package sqlite

import (
	"time"

	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	sqlite3 "zombiezen.com/go/sqlite"
)

// flusher is the one connection of this handle that writes, and the transactions
// on it. Whoever holds writer.drive owns it.
type flusher struct {
	db   *DB
	conn *sqlite3.Conn // nil after a failure that made it doubtful
	tx   *tx

	begun   int       // transactions, ever
	unsaved int       // bytes committed since the last checkpoint, about
	told    bool      // the goroutine knows that unsaved is large
	flushed time.Time // end of the last flush
}

func newFlusher(db *DB, c *sqlite3.Conn) flusher {
	c.SetBusyTimeout(0) // begin waits, more finely
	return flusher{db: db, conn: c, tx: &tx{db: db, conn: c}}
}

// flush answers all jobs. It reports false, and has not touched them, if it had to
// wait for another process and patient is false.
func (f *flusher) flush(jobs []*job, patient bool) bool {
	if len(jobs) == 0 {
		return true
	}
	if err := f.db.file.check(); err != nil {
		fail(jobs, err, true)
		return true
	}
	definite, err := f.together(jobs, patient)
	if code, _ := classify(err); code == store.ErrFull {
		// Most of what fills the disk may be the log. Its pages fit into the file, where
		// most of them stand already; the next flush finds the room.
		_ = f.checkpoint("TRUNCATE") // if that fails too, people are told that it is full
	}
	switch {
	case err == errBusyNow:
		return false
	case err == nil:
		answer(jobs)
	case !definite, hopeless(err), len(jobs) == 1 && len(jobs[0].reqs) <= 1:
		fail(jobs, f.db.wrap("commit", err), definite)
	default:
		f.apart(jobs)
	}
	f.flushed = time.Now()
	return true
}

// hopeless reports whether trying requests in smaller pieces makes no sense, because
// the failure was nobody's own.
func hopeless(err error) bool {
	code, _ := classify(err)
	return code == ErrIO || code == ErrNotADatabase || coalesce.Hopeless(code)
}

// together runs all jobs in one transaction. On an error nothing of them was
// written, if definite.
func (f *flusher) together(jobs []*job, patient bool) (definite bool, err error) {
	return f.transaction(patient, func() error {
		for _, j := range jobs {
			if j.do != nil {
				if err := j.do(f.tx); err != nil {
					return err
				}
				continue
			}
			for i := range j.reqs {
				var err error
				if j.res[i], err = f.tx.commit(&j.reqs[i]); err != nil {
					return err
				}
			}
			f.unsaved += j.bytes + 3*pageSize
		}
		return nil
	})
}

// part is what a flush can be taken apart into: a request of a job, or its do.
type part struct {
	job *job
	req int
}

func (p part) run(t *tx) (err error) {
	if p.job.do != nil {
		return p.job.do(t)
	}
	p.job.res[p.req], err = t.commit(&p.job.reqs[p.req])
	return err
}

// apart runs jobs whose common transaction failed in smaller ones, until what is wrong
// with one part is its own.
func (f *flusher) apart(jobs []*job) {
	var parts []part
	for _, j := range jobs {
		for i := range max(1, len(j.reqs)) {
			if j.do != nil || i < len(j.reqs) {
				parts = append(parts, part{j, i})
			}
		}
	}
	try := func(from, to int) bool {
		definite, err := f.transaction(true, func() error {
			for _, p := range parts[from:to] {
				if err := p.run(f.tx); err != nil {
					return err
				}
			}
			return nil
		})
		single := to-from == 1
		switch {
		case err == nil:
			f.unsaved += (to - from) * 3 * pageSize
			return true
		case !single && definite && !hopeless(err):
			return false
		}
		for _, p := range parts[from:to] {
			if p.job.do != nil {
				p.job.err = err
			} else {
				p.job.res[p.req] = failure(f.db.wrap("commit", err), definite)
			}
		}
		return !single
	}
	if len(parts) == 1 { // beside jobs that ask for nothing
		try(0, 1)
	}
	coalesce.Bisect(len(parts), try)
	answer(jobs)
}

// transaction runs act between BEGIN IMMEDIATE and COMMIT. An error before the
// COMMIT is definite: nothing was written. An impatient one that had to wait for
// another process returns errBusyNow.
func (f *flusher) transaction(patient bool, act func() error) (definite bool, err error) {
	if err := f.begin(patient); err != nil {
		return true, err
	}
	f.begun++
	f.tx.begin()
	if err = act(); err == nil {
		if err = step(f.conn, "COMMIT"); err == nil {
			return true, nil
		}
		_, definite = classify(err)
	} else {
		definite = true
	}
	settle(f.conn)
	// Some errors have ended the transaction already.
	if !f.conn.AutocommitEnabled() && step(f.conn, "ROLLBACK") != nil || !definite {
		// What this connection believes of the file may be wrong now. The next
		// transaction begins with a new one.
		_ = f.conn.Close() // there is nothing to tell beside err
		f.conn = nil
	}
	return definite, err
}

// settle resets statements that stand on a row because an error came between. One
// that did would hold its snapshot open, and no transaction could begin on a
// newer one.
func settle(c *sqlite3.Conn) { c.SetInterrupt(nil) }

func (f *flusher) begin(patient bool) (err error) {
	if f.conn == nil {
		if f.conn, err = connectWriter(f.db.file.path, &f.db.o); err != nil {
			f.conn = nil
			return err
		}
		f.conn.SetBusyTimeout(0)
		f.tx.conn = f.conn
	}
	// IMMEDIATE: a transaction that reads first and writes then fails as soon as
	// somebody else has written in between, without any wait.
	begin := "BEGIN IMMEDIATE"
	if f.db.o.deferred {
		begin = "BEGIN"
	}
	if err = step(f.conn, begin); err == nil {
		return nil
	}
	if code, _ := classify(err); code != ErrBusy {
		return err
	}
	if !patient {
		return errBusyNow
	}
	return persist(f.db.o.patience, func() error { return step(f.conn, begin) })
}

// checkpoint copies the log back into the file. Nothing is lost by a failure
// while the log is there.
func (f *flusher) checkpoint(mode string) error {
	if err := f.db.file.check(); err != nil {
		return err
	}
	f.unsaved, f.told = 0, false
	if f.conn == nil {
		return nil
	}
	return run(f.conn, "PRAGMA wal_checkpoint("+mode+")")
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
