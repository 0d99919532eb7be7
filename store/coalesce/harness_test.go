package coalesce_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/memstore"
)

// tap is a store under the decorator: it writes down what it is asked, and can be held.
type tap struct {
	store.Log
	db *memstore.DB
	mu struct {
		sync.Mutex
		calls [][]store.Request
		held  chan struct{} // calls wait until it is closed
		// answer, if set, may answer a call instead of the store.
		answer func(ctx context.Context, reqs []store.Request) (res []store.Result, err error, mine bool)
	}
}

func (x *tap) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	x.mu.Lock()
	x.mu.calls = append(x.mu.calls, slices.Clone(reqs))
	held, answer := x.mu.held, x.mu.answer
	x.mu.Unlock()
	if held != nil {
		<-held
	}
	if answer != nil {
		if res, err, mine := answer(ctx, reqs); mine {
			return res, err
		}
	}
	return x.Log.Commit(ctx, reqs...)
}

// hold makes calls wait until release is called.
func (x *tap) hold() (release func()) {
	held := make(chan struct{})
	x.mu.Lock()
	x.mu.held = held
	x.mu.Unlock()
	return func() {
		x.mu.Lock()
		x.mu.held = nil
		x.mu.Unlock()
		close(held)
	}
}

func (x *tap) answering(f func(ctx context.Context, reqs []store.Request) ([]store.Result, error, bool)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.answer = f
}

// calls returns the ids of each call so far.
func (x *tap) calls() (out [][]string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.mu.calls {
		var ids []string
		for _, r := range c {
			ids = append(ids, string(r.Execution))
		}
		out = append(out, ids)
	}
	return out
}

func (x *tap) count() int { return len(x.calls()) }

// forget empties the list of calls.
func (x *tap) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.calls = nil
}

// over returns a decorated store and the tap under it.
func over(t *testing.T, o *coalesce.Options) (store.Log, *tap) {
	t.Helper()
	x := &tap{db: memstore.New(nil)}
	x.Log = x.db
	s, err := store.Stack(store.Store{Log: x}, coalesce.New(o))
	if err != nil {
		t.Fatal(err)
	}
	return s.Log, x
}

// bubble runs a test in fake time. It fails if a goroutine is left when f has returned.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// answer is what one caller got.
type answer struct {
	res []store.Result
	err error
}

// send commits beside the test, after all earlier ones have put theirs into the line.
func send(ctx context.Context, l store.Log, reqs ...store.Request) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		res, err := l.Commit(ctx, reqs...)
		got <- answer{res, err}
	}()
	synctest.Wait()
	return got
}

var nonces atomic.Uint64

func nonce() (n store.Nonce) {
	binary.BigEndian.PutUint64(n[:], nonces.Add(1))
	return n
}

func ev(id event.ExecutionID, seq event.Seq, text string) event.Envelope {
	kind := event.KindEffectCompleted
	if seq == 0 {
		kind = event.KindExecutionStarted
	}
	return event.Envelope{Execution: id, Sequence: seq, Kind: kind, Time: event.Time(1_700_000_000_000_000 + int64(seq)), Payload: []byte(text)}
}

// birth is a start of id for nobody.
func birth(id event.ExecutionID) store.Request {
	return store.Request{
		Execution: id, Nonce: nonce(), Expect: store.Absent(), Events: []event.Envelope{ev(id, 0, "{}")},
		Index: &store.IndexEntry{Flow: "flow"}, Release: &store.Release{WakeAt: event.Never},
	}
}

// next is a commit of one event on tip.
func next(id event.ExecutionID, tip store.Tip) store.Request {
	return store.Request{Execution: id, Nonce: nonce(), Expect: tip, Events: []event.Envelope{ev(id, tip.Head+1, "{}")}}
}

// must commits one request past the decorator.
func (x *tap) must(t *testing.T, req store.Request) store.Result {
	t.Helper()
	res, err := x.db.Commit(context.Background(), req)
	if err != nil || res[0].Outcome != store.Committed {
		t.Fatalf("commit of %s: %+v, %v", req.Execution, res, err)
	}
	return res[0]
}

// exists reports whether id was written.
func (x *tap) exists(t *testing.T, id event.ExecutionID) bool {
	t.Helper()
	tip, err := x.db.Tip(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tip.Exists()
}

// one is the answer of a caller of one request, which must have come by now.
func one(t *testing.T, got <-chan answer) store.Result {
	t.Helper()
	a := now(t, got)
	if a.err != nil || len(a.res) != 1 {
		t.Fatalf("%+v, %v", a.res, a.err)
	}
	return a.res[0]
}

// now is an answer that must have come by now.
func now(t *testing.T, got <-chan answer) answer {
	t.Helper()
	synctest.Wait()
	select {
	case a := <-got:
		return a
	default:
		t.Fatal("no answer")
		return answer{}
	}
}

// waits checks that a caller still waits.
func waits(t *testing.T, got <-chan answer) {
	t.Helper()
	synctest.Wait()
	if len(got) > 0 {
		t.Fatalf("answered: %+v", <-got)
	}
}
