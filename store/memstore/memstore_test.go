package memstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// bench is a store on a clock that the test moves.
type bench struct {
	*memstore.DB
	t     testing.TB
	now   event.Time
	nonce uint64
}

func open(t testing.TB, level store.Level) *bench {
	b := &bench{t: t, now: 1_000_000}
	b.DB = memstore.New(&memstore.Options{Now: func() event.Time { return b.now }, Level: level})
	return b
}

func (b *bench) next() (n store.Nonce) {
	b.nonce++
	binary.BigEndian.PutUint64(n[8:], b.nonce)
	return n
}

func (b *bench) start(id event.ExecutionID, flow string, owner store.NodeID, wake event.Time) store.Request {
	req := store.Request{Execution: id, Nonce: b.next(), Expect: store.Absent(), Index: &store.IndexEntry{Flow: flow}}
	req.Events = []event.Envelope{{Execution: id, Kind: event.KindExecutionStarted, Time: 5, Payload: []byte("{}")}}
	if owner != "" {
		req.Claim = &store.Claim{Owner: owner, When: store.AnyOwner}
	} else {
		req.Release = &store.Release{WakeAt: wake}
	}
	return req
}

func (b *bench) commit(req store.Request) store.Result {
	b.t.Helper()
	res, err := b.Commit(context.Background(), req)
	if err != nil || len(res) != 1 || res[0].Outcome != store.Committed {
		b.t.Fatalf("commit of %s: %+v, %v", req.Execution, res, err)
	}
	return res[0]
}

func TestRunnableIsOldestFirstAcrossKinds(t *testing.T) {
	ctx := context.Background()
	b := open(t, store.Level23)
	b.Renew(ctx, "n1", 10*time.Second, nil)
	b.commit(b.start("owned", "f", "n1", 0))
	b.commit(b.start("late", "f", "", b.now.Add(30*time.Second)))
	b.commit(b.start("early", "f", "", b.now.Add(5*time.Second)))
	b.commit(b.start("other", "g", "", 0))
	b.commit(b.start("asleep", "f", "", event.Never))
	b.now = b.now.Add(20 * time.Second)
	hs, next, _, err := b.Runnable(ctx, store.Demand{Flows: []store.FlowVersion{{Flow: "f"}, {Flow: "f"}}, Limit: 10})
	if err != nil || len(hs) != 2 || hs[0].Execution != "early" || hs[1].Execution != "owned" {
		t.Fatalf("runnable: %v, %v", hs, err)
	}
	if want := event.Time(1_000_000).Add(30 * time.Second); next != want {
		t.Fatalf("next wake-up %d, want %d", next, want)
	}
}

// At level 2.2.0 tokens of an id go on above those of what was deleted (race 10).
func TestLegacyLevelKeepsFenceFloor(t *testing.T) {
	ctx := context.Background()
	b := open(t, store.Level22)
	start := b.start("x", "f", "", 0)
	res := b.commit(start)
	if want := store.LegacyAnchor(start.Events[0]); res.Tip.Anchor != want {
		t.Fatalf("anchor %q, want %q", res.Tip.Anchor, want)
	}
	res = b.commit(store.Request{Execution: "x", Nonce: b.next(), Expect: res.Tip,
		Claim: &store.Claim{When: store.Unowned}, State: store.StateDeleting})
	if done, err := b.Delete(ctx, "x", res.Tip); !done || err != nil {
		t.Fatalf("delete: %v, %v", done, err)
	}
	start.Nonce = b.next()
	if again := b.commit(start); again.Tip.Fence != 2 || again.Tip.Anchor != res.Tip.Anchor {
		t.Fatalf("re-created with %+v, want token 2 and the old anchor", again.Tip)
	}
}

func TestSharedBySeveralOpeners(t *testing.T) {
	ctx := context.Background()
	db := memstore.New(nil)
	one, closeOne, err := db.OpenStore(ctx)
	if err != nil || one.Require(store.PartLog, store.PartIndex, store.PartLeaser, store.PartInbox, store.PartRecords,
		store.PartDeleter, store.PartHints, store.PartAbout) != nil {
		t.Fatalf("open: %v, %v", one, err)
	}
	two, _, _ := db.OpenStore(ctx)
	one.Records.Put(ctx, "s", "n", 0, []byte("x"))
	if closeOne() != nil {
		t.Fatal("close failed")
	}
	if _, ok, _ := two.Records.Get(ctx, "s", "n"); !ok {
		t.Fatal("what one opener wrote, the other does not see")
	}
}

func TestAwaitWakes(t *testing.T) {
	b := open(t, store.Level23)
	v, err := b.Await(context.Background(), 0)
	if err != nil || v < 1 {
		t.Fatalf("first version %d, %v", v, err)
	}
	woken := make(chan int64)
	go func() {
		now, _ := b.Await(context.Background(), v)
		woken <- now
	}()
	b.commit(b.start("x", "f", "", 0))
	if now := <-woken; now <= v {
		t.Fatalf("version %d after a commit, was %d", now, v)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Await(ctx, v); err != context.Canceled {
		t.Fatalf("error %v, want that of ctx", err)
	}
}

// Polls of a store of a million rows look at what they return, not at the rest.
func BenchmarkRunnableOfMany(b *testing.B) {
	ctx := context.Background()
	s := open(b, store.Level23)
	s.Renew(ctx, "n1", time.Hour, nil)
	for i := range 1_000_000 {
		s.commit(s.start(event.ExecutionID(fmt.Sprintf("e-%d", i)), "f", "", s.now.Add(time.Hour+time.Duration(i%1000))))
	}
	s.commit(s.start("due", "f", "", 0))
	s.commit(s.start("mine", "f", "n1", 0))
	b.ReportAllocs()
	for b.Loop() {
		hs, _, _, _ := s.Runnable(ctx, store.Demand{Flows: []store.FlowVersion{{Flow: "f"}}, Limit: 64})
		own, _ := s.Owned(ctx, "n1", false)
		if len(hs) != 1 || len(own) != 1 {
			b.Fatal(len(hs), len(own))
		}
	}
}

// One execution is four commits; the unit of the result is one execution.
func BenchmarkExecution(b *testing.B) {
	ctx := context.Background()
	s := open(b, store.Level23)
	s.Renew(ctx, "n1", time.Hour, nil)
	payload := make([]byte, 100)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		id := event.ExecutionID(fmt.Sprintf("e-%d", i))
		res := s.commit(s.start(id, "f", "n1", 0))
		for step := range 3 {
			req := store.Request{Execution: id, Nonce: s.next(), Expect: res.Tip, As: "n1", Events: []event.Envelope{
				{Execution: id, Sequence: res.Tip.Head + 1, Kind: event.KindEffectCompleted, Time: 6, Payload: payload},
				{Execution: id, Sequence: res.Tip.Head + 2, Kind: event.KindEffectScheduled, Time: 6, Payload: payload},
			}}
			if step == 2 {
				req.State = store.StateCompleted
			}
			res = s.commit(req)
		}
	}
}
