package loom_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// call is one call of a store.
type call struct {
	op  string // commit, read, tip, get, list, runnable, owned, renew, leave, post, pending
	id  event.ExecutionID
	req *store.Request // of a commit
	rng store.Range    // of a read
}

// tap is one runtime's way to a store, on which a test can count, wait and cut.
type tap struct {
	db   *memstore.DB
	dead chan struct{} // closed when what hangs on a killed way may end
	mu   struct {
		sync.Mutex
		killed   bool
		released bool
		calls    []call
		before   func(call) // may block
		after    func(call, store.Result)
		answer   func(call) (store.Result, bool) // instead of the store
		noReads  bool
		lag      *bool // reads show nothing; strong ones neither, if true
		less     int   // events at the end of a log that reads do not show
	}
}

func newTap(t *testing.T, db *memstore.DB) *tap {
	t.Helper()
	x := &tap{db: db, dead: make(chan struct{})}
	return x
}

// tapped opens a runtime over a tap of db.
func tapped(t *testing.T, db *memstore.DB, opts ...loom.Option) (*loom.Runtime, *tap) {
	t.Helper()
	x := newTap(t, db)
	return openTap(t, x, opts...), x
}

// openTap opens a runtime over a tap. It is closed with the test, unless it was killed.
func openTap(t *testing.T, x *tap, opts ...loom.Option) *loom.Runtime {
	t.Helper()
	rt, err := loom.Open(context.Background(), x, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killed := x.release()
		if err := rt.Close(); err != nil && !killed && !errors.Is(err, loom.ErrClosed) {
			t.Error(err)
		}
	})
	return rt
}

var errDead = errors.New("the process was killed")

// kill makes every call from now on hang, like those of a process that is no
// more; what was started and waits for the store stays where it is.
func (x *tap) kill() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.killed = true
}

// thaw ends a kill: the process was only paused.
func (x *tap) thaw() {
	x.mu.Lock()
	x.mu.killed = false
	hanging := x.dead
	x.dead = make(chan struct{})
	x.mu.Unlock()
	close(hanging)
}

// release lets what hangs fail, so that the runtime can be closed.
func (x *tap) release() (killed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.before, x.mu.after, x.mu.answer = nil, nil, nil
	released := x.mu.released
	x.mu.released = true
	if killed = x.mu.killed; killed && !released {
		close(x.dead)
	}
	return killed
}

// on sets what is called before each call; it may block.
func (x *tap) on(before func(call)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.before = before
}

// onAnswer sets what is called after each call.
func (x *tap) onAnswer(after func(call, store.Result)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.after = after
}

// answering sets what may answer a commit instead of the store.
func (x *tap) answering(answer func(call) (store.Result, bool)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.answer = answer
}

// failReads makes reads of logs fail.
func (x *tap) failReads(on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.noReads = on
}

// lagging makes reads of logs show nothing; strong ones too, if it is a replica that
// does not honour them.
func (x *tap) lagging(alsoStrong bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.lag = &alsoStrong
}

// leaveOut makes reads of logs show n events less than there are.
func (x *tap) leaveOut(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.less = n
}

var errNoRead = errors.New("the read failed")

// reads returns the reads of an execution's log, in order.
func (x *tap) reads(id string) (out []call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.mu.calls {
		if c.op == "read" && string(c.id) == id {
			out = append(out, c)
		}
	}
	return out
}

// count returns how many calls of an operation there were, about an execution or,
// with "", about any.
func (x *tap) count(op string, id string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.mu.calls {
		if c.op == op && (id == "" || string(c.id) == id) {
			n++
		}
	}
	return n
}

// ops returns the operations about an execution, in order.
func (x *tap) ops(id string) (out []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.mu.calls {
		if string(c.id) == id {
			out = append(out, c.op)
		}
	}
	return out
}

// commits returns the requests about an execution, in order.
func (x *tap) commits(id string) (out []*store.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.mu.calls {
		if c.op == "commit" && string(c.id) == id {
			out = append(out, c.req)
		}
	}
	return out
}

// enter is the way in of every call.
func (x *tap) enter(c call) error {
	if err := x.alive(); err != nil {
		return err
	}
	x.mu.Lock()
	x.mu.calls = append(x.mu.calls, c)
	before := x.mu.before
	x.mu.Unlock()
	if before == nil {
		return nil
	}
	before(c)
	return x.alive() // it may have been killed there
}

// alive hangs while the process is killed.
func (x *tap) alive() error {
	for {
		x.mu.Lock()
		killed, released, dead := x.mu.killed, x.mu.released, x.dead
		x.mu.Unlock()
		switch {
		case !killed:
			return nil
		case released:
			return errDead
		}
		<-dead
	}
}
