package schedule_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// way is one node's way to the store. Each call that is about an execution is counted,
// and waits at the turnstile if there is one.
type way struct {
	name string
	db   *memstore.DB
	turn *turnstile
	// answer, where it is set, may answer a commit instead of the store.
	answer func(store.Request) (store.Result, bool)

	mu   sync.Mutex
	ops  []string
	sent []store.Request
}

// OpenStore implements store.Source.
func (w *way) OpenStore(context.Context) (store.Store, func() error, error) {
	s := store.Of(w.db)
	s.Log, s.Index = wayLog{w}, wayIndex{w.db, w}
	return s, func() error { return nil }, nil
}

func (w *way) enter(op string, sent ...store.Request) {
	w.mu.Lock()
	w.ops = append(w.ops, op)
	w.sent = append(w.sent, sent...)
	w.mu.Unlock()
	if w.turn != nil {
		w.turn.pass(w.name + " " + op)
	}
}

// did returns what was asked of the store about executions, in order.
func (w *way) did() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ops)
}

// requests returns what was sent to be committed, in order.
func (w *way) requests() []store.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

type wayLog struct{ w *way }

func (l wayLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	l.w.enter("commit", reqs...)
	if l.w.answer != nil {
		if res, ok := l.w.answer(reqs[0]); ok {
			return []store.Result{res}, nil
		}
	}
	return l.w.db.Commit(ctx, reqs...)
}

func (l wayLog) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		l.w.enter("read")
		l.w.db.Read(ctx, id, r)(yield)
	}
}

func (l wayLog) Tip(ctx context.Context, id event.ExecutionID) (store.Tip, error) {
	l.w.enter("tip")
	return l.w.db.Tip(ctx, id)
}

type wayIndex struct {
	*memstore.DB
	w *way
}

func (i wayIndex) Get(ctx context.Context, id event.ExecutionID) (store.Head, bool, error) {
	i.w.enter("get")
	return i.DB.Get(ctx, id)
}

// node is a runtime with what its subscribers heard.
type node struct {
	*loom.Runtime
	way   *way
	mu    sync.Mutex
	heard []string
}

func join(t *testing.T, w *way, flows ...loom.AnyFlow) *node {
	t.Helper()
	n := &node{way: w}
	tell := func(what string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.heard = append(n.heard, what)
	}
	rt, err := loom.Open(context.Background(), w, loom.Flows(flows...), loom.Tuning{Lease: time.Second, Scan: time.Second / 4}, loom.Hooks{
		OnEvent:        func(e event.Envelope) { tell("event") },
		OnDurable:      func(e event.Envelope) { tell("durable") },
		OnAborted:      func(event.ExecutionID, event.Seq, error) { tell("aborted") },
		OnStorageError: func(event.ExecutionID, error) { tell("storage error") },
		OnWarn:         func(event.ExecutionID, error) { tell("warning") },
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Runtime = rt
	t.Cleanup(func() { _ = rt.Close() })
	return n
}

// hears returns what the node's subscribers heard.
func (n *node) hears() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.heard)
}

// turnstile holds every call back until it is told whose turn it is.
type turnstile struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	free    bool
}

func (s *turnstile) pass(who string) {
	s.mu.Lock()
	if s.free {
		s.mu.Unlock()
		return
	}
	if s.waiting == nil {
		s.waiting = map[string]chan struct{}{}
	}
	for s.waiting[who] != nil { // two calls of one kind from one node
		who += "'"
	}
	turn := make(chan struct{})
	s.waiting[who] = turn
	s.mu.Unlock()
	<-turn
}

// held returns who waits, in one order.
func (s *turnstile) held() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var who []string
	for w := range s.waiting {
		who = append(who, w)
	}
	slices.Sort(who)
	return who
}

// let lets one go and waits until everybody waits again.
func (s *turnstile) let(who string) {
	s.mu.Lock()
	turn := s.waiting[who]
	delete(s.waiting, who)
	s.mu.Unlock()
	close(turn)
	synctest.Wait()
}

// open lets everybody through from now on.
func (s *turnstile) open() {
	for _, who := range s.held() {
		s.let(who)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = true
}

// path walks a tree of choices, depth first, each time from its root.
type path struct {
	taken, of []int
	at        int
}

// choose returns which of n this walk takes here.
func (p *path) choose(n int) int {
	if p.at == len(p.taken) {
		p.taken, p.of = append(p.taken, 0), append(p.of, n)
	}
	p.at++
	return p.taken[p.at-1]
}

// next goes on to the next walk; false when all were walked.
func (p *path) next() bool {
	p.at = 0
	for i := len(p.taken) - 1; i >= 0; i-- {
		if p.taken[i]++; p.taken[i] < p.of[i] {
			p.taken, p.of = p.taken[:i+1], p.of[:i+1]
			return true
		}
	}
	return false
}
