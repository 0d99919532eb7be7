package loom_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

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

// OpenStore implements store.Source.
func (x *tap) OpenStore(context.Context) (store.Store, func() error, error) {
	s := store.Of(x.db)
	s.Log, s.Index, s.Inbox, s.Leaser = tapLog{x}, tapIndex{x.db, x}, tapInbox{x.db, x}, tapLeaser{x.db, x}
	s.Hints = tapHints{x}
	return s, func() error { return nil }, nil
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

type tapLog struct{ x *tap }

func (l tapLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	reqs = slices.Clone(reqs)
	for i := range reqs {
		if err := l.x.enter(call{op: "commit", id: reqs[i].Execution, req: &reqs[i]}); err != nil {
			return nil, err
		}
	}
	l.x.mu.Lock()
	after, answer := l.x.mu.after, l.x.mu.answer
	l.x.mu.Unlock()
	if answer != nil {
		if res, ok := answer(call{op: "commit", id: reqs[0].Execution, req: &reqs[0]}); ok {
			return []store.Result{res}, nil
		}
	}
	out, err := l.x.db.Commit(ctx, reqs...)
	if err == nil && after != nil {
		for i := range reqs {
			after(call{op: "commit", id: reqs[i].Execution, req: &reqs[i]}, out[i])
		}
	}
	return out, err
}

func (l tapLog) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		if err := l.x.enter(call{op: "read", id: id, rng: r}); err != nil {
			yield(event.Envelope{}, err)
			return
		}
		l.x.mu.Lock()
		fail, lag := l.x.mu.noReads, l.x.mu.lag
		l.x.mu.Unlock()
		switch {
		case fail:
			yield(event.Envelope{}, errNoRead)
		case lag != nil && (*lag || !r.Strong):
		default:
			l.x.db.Read(ctx, id, r)(yield)
		}
	}
}

func (l tapLog) Tip(ctx context.Context, id event.ExecutionID) (store.Tip, error) {
	if err := l.x.enter(call{op: "tip", id: id}); err != nil {
		return store.Absent(), err
	}
	return l.x.db.Tip(ctx, id)
}

type tapIndex struct {
	*memstore.DB
	x *tap
}

func (i tapIndex) Get(ctx context.Context, id event.ExecutionID) (store.Head, bool, error) {
	if err := i.x.enter(call{op: "get", id: id}); err != nil {
		return store.Head{}, false, err
	}
	return i.DB.Get(ctx, id)
}

func (i tapIndex) Runnable(ctx context.Context, d store.Demand) ([]store.Head, event.Time, event.Time, error) {
	if err := i.x.enter(call{op: "runnable"}); err != nil {
		return nil, event.Never, 0, err
	}
	return i.DB.Runnable(ctx, d)
}

func (i tapIndex) Owned(ctx context.Context, node store.NodeID, mailOnly bool) ([]store.Head, error) {
	if err := i.x.enter(call{op: "owned"}); err != nil {
		return nil, err
	}
	return i.DB.Owned(ctx, node, mailOnly)
}

type tapInbox struct {
	*memstore.DB
	x *tap
}

func (i tapInbox) Post(ctx context.Context, to event.ExecutionID, m store.Message) (store.Receipt, error) {
	if err := i.x.enter(call{op: "post", id: to}); err != nil {
		return store.Receipt{}, err
	}
	return i.DB.Post(ctx, to, m)
}

func (i tapInbox) Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) ([]store.Message, int64, error) {
	if err := i.x.enter(call{op: "pending", id: id}); err != nil {
		return nil, 0, err
	}
	return i.DB.Pending(ctx, id, after, limit)
}

type tapLeaser struct {
	*memstore.DB
	x *tap
}

func (l tapLeaser) Renew(ctx context.Context, node store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	if err := l.x.enter(call{op: "renew"}); err != nil {
		return store.Lease{}, err
	}
	return l.DB.Renew(ctx, node, ttl, flows)
}

func (l tapLeaser) Leave(ctx context.Context, node store.NodeID) error {
	if err := l.x.enter(call{op: "leave"}); err != nil {
		return err
	}
	return l.DB.Leave(ctx, node)
}

// tapHints stays silent for a killed process.
type tapHints struct{ x *tap }

func (h tapHints) Await(ctx context.Context, since int64) (int64, error) {
	return h.x.db.Await(ctx, since)
}

// shutGate returns a gate that is shut, until the test ends at the latest.
func shutGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{}
	g.close()
	t.Cleanup(g.open)
	return g
}

// gate blocks who passes while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil while open
	held int
}

// close makes the next ones wait.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

// open lets everybody through.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// pass waits until the gate is open.
func (g *gate) pass() {
	g.mu.Lock()
	shut := g.shut
	if shut != nil {
		g.held++
	}
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
}

// waiting returns how many came to the shut gate.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// commitGate holds back the commits of an execution ("" for all) while g is shut.
func (x *tap) commitGate(g *gate, id string) {
	x.on(func(c call) {
		if c.op == "commit" && (id == "" || string(c.id) == id) {
			g.pass()
		}
	})
}
