package loom_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// logOf returns an execution's log as the store has it.
func logOf(t *testing.T, db *memstore.DB, id string) []event.Envelope {
	t.Helper()
	var out []event.Envelope
	for e, err := range db.Read(context.Background(), event.ExecutionID(id), store.Range{Strong: true}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// payloads returns the log's payloads of one kind.
func payloads[P event.Payload](t *testing.T, db *memstore.DB, id string) (out []P) {
	t.Helper()
	for _, e := range logOf(t, db, id) {
		p, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := p.(P); ok {
			out = append(out, p)
		}
	}
	return out
}

// kinds returns the log's kinds, in order.
func kinds(log []event.Envelope) string {
	var out []string
	for _, e := range log {
		out = append(out, string(e.Kind))
	}
	return strings.Join(out, " ")
}

// stateOf folds an execution's log.
func stateOf(t *testing.T, db *memstore.DB, id string) *fold.State {
	t.Helper()
	s, err := fold.Log(logOf(t, db, id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// headOf returns an execution's head row.
func headOf(t *testing.T, db *memstore.DB, id string) store.Head {
	t.Helper()
	h, ok, err := db.Get(context.Background(), event.ExecutionID(id))
	if err != nil || !ok {
		t.Fatalf("head row of %s: %v, %v", id, ok, err)
	}
	return h
}

// everything returns the ids of all executions of a store.
func everything(t *testing.T, db *memstore.DB) (ids []string) {
	t.Helper()
	heads, _, err := db.List(context.Background(), store.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heads {
		ids = append(ids, string(h.Execution))
	}
	return ids
}

// service counts the calls of effects by key, and holds them back while told to.
type service struct {
	mu    sync.Mutex
	calls []string
	keys  map[string]int
}

// call notes a call.
func (s *service) call(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]int{}
	}
	s.calls = append(s.calls, key)
	s.keys[key]++
	return s.keys[key]
}

// count returns how often key was called; all calls for "".
func (s *service) count(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" {
		return len(s.calls)
	}
	return s.keys[key]
}

// all returns the calls in order.
func (s *service) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// counter counts.
type counter struct{ atomic.Int64 }

func (c *counter) inc() { c.Add(1) }

// is compares a count.
func (c *counter) is(t *testing.T, what string, want int64) {
	t.Helper()
	if got := c.Load(); got != want {
		t.Fatalf("%s: %d times, want %d", what, got, want)
	}
}

// step is a Do of an effect that counts itself.
func step(ctx loom.Context, s *service, name string, opts ...loom.StepOption) (string, error) {
	return loom.Do(ctx, name, func(context.Context) (string, error) {
		s.call(name)
		return name, nil
	}, opts...)
}

// statusText is the name of a head row's state.
func statusText(s store.State) string { return s.String() }

// erase deletes an execution that has ended, as retention will.
func erase(t *testing.T, db *memstore.DB, id string) {
	t.Helper()
	h := headOf(t, db, id)
	res, err := db.Commit(context.Background(), store.Request{Execution: h.Execution, Nonce: store.Nonce{1}, Expect: h.Tip,
		Claim: &store.Claim{When: store.AtEnd}, State: store.StateDeleting})
	if err != nil || res[0].Outcome != store.Committed {
		t.Fatalf("%+v, %v", res, err)
	}
	if done, err := db.Delete(context.Background(), h.Execution, res[0].Tip); err != nil || !done {
		t.Fatal(done, err)
	}
}

// warnings records what OnWarn hears, by execution.
type warnings struct {
	mu   sync.Mutex
	errs map[string][]error
}

func (w *warnings) hooks() loom.Hooks {
	return loom.Hooks{OnWarn: func(id event.ExecutionID, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.errs == nil {
			w.errs = map[string][]error{}
		}
		w.errs[string(id)] = append(w.errs[string(id)], err)
	}}
}

// of returns the warnings about an execution.
func (w *warnings) of(id string) []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.errs[id])
}

// messageOf is a message as another program might post it.
func messageOf(name, body string) store.Message {
	return store.Message{ID: "raw-" + name, Name: name, Body: []byte(body)}
}
