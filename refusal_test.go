package loom_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// claims B-14, B-15, B-16 and B-46: whatever the store stumbles over first, a start that
// finds sequence 0 there is a duplicate; it carries the caller's id and reports nothing.
func TestARefusalIsConfirmedAndNotBelieved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		db := memstore.New(nil)
		heard := &hears{}
		rt, way := tapped(t, db, loom.Flows(flow), heard.hooks())
		begin(t, flow, rt, 0, loom.ID("x"))
		synctest.Wait()
		was := fmt.Sprint(heard.all("x"))
		for _, why := range []store.Refusal{store.RefusedHead, store.RefusedFence, store.RefusedAnchor, store.RefusedOwner} {
			way.answering(func(c call) (store.Result, bool) {
				return store.Result{Outcome: store.Refused, Refusal: why, Tip: store.Tip{Head: 3}}, true
			})
			existing(t, flow, rt, 0, "x")
		}
		way.answering(nil)
		if got := fmt.Sprint(heard.all("x")); got != was {
			t.Fatalf("heard %s, before %s", got, was)
		}
		for _, c := range way.reads("x") { // claim B-24: sequence 0 alone, by a strong read
			if c.rng != (store.Range{Limit: 1, Strong: true}) {
				t.Fatalf("read back %+v", c.rng)
			}
		}
	})
}

// A start of an execution that was claimed since is refused for its token, and is a
// duplicate all the same (claim B-16).
func TestAStartOfWhatWasTakenOverIsADuplicate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		db := memstore.New(nil)
		first := open(t, db, loom.Flows(flow))
		begin(t, flow, first, 0, loom.ID("x"))
		synctest.Wait()
		shut(t, first)
		second := open(t, db, loom.Flows(flow))
		signal(t, second, "x", "other", 1) // wakes it: a claim, token 1
		until(t, "a claim", func() bool { return headOf(t, db, "x").Tip.Fence > 0 })
		if e := existing(t, flow, second, 0, "x"); e.Status != fold.Running {
			t.Fatalf("%+v", e)
		}
	})
}

// claim B-25: a refusal that turns out to be somebody else's is sent once more, alone.
func TestAForeignRefusalIsTriedOnceMoreAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pay", func(_ loom.Context, n int) (int, error) { return n, nil })
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		refuse := 1
		way.answering(func(c call) (store.Result, bool) {
			refuse--
			return store.Result{Outcome: store.Refused, Refusal: store.RefusedHead, Tip: store.Absent()}, refuse >= 0
		})
		yields(t, begin(t, flow, rt, 5, loom.ID("x")), 5)
		if got := fmt.Sprint(way.ops("x")[:3]); got != "[commit read commit]" { // claim B-37
			t.Fatal(got)
		}
		if c := way.commits("x"); c[0].Alone || !c[1].Alone {
			t.Fatal("the second try does not travel alone")
		}
	})
}

// claim B-26: two starts of one id that were refused together for somebody else's sake both
// try again, and do not fail together again: one runs, one is a duplicate.
func TestTwoStartsRefusedTogetherAreOneInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
		db := memstore.New(nil)
		var started, refused counter
		var wg sync.WaitGroup
		both := shutGate(t)
		for range 2 {
			rt, way := tapped(t, db, loom.Flows(flow))
			var first counter
			way.answering(func(call) (store.Result, bool) {
				if first.inc(); first.Load() > 1 {
					return store.Result{}, false
				}
				both.pass()
				return store.Result{Outcome: store.Refused, Refusal: store.RefusedHead, Tip: store.Absent()}, true
			})
			wg.Go(func() {
				_, err := flow.Start(t.Context(), rt, 0, loom.ID("x"))
				var exists *loom.ExecutionAlreadyExistsError
				switch {
				case err == nil:
					started.inc()
				case errors.As(err, &exists):
					refused.inc()
				default:
					t.Error(err)
				}
				if v, err := attach[string](t, rt, "x").Result(soon(t)); err != nil || v != "charge" {
					t.Error(v, err)
				}
			})
		}
		until(t, "both are refused", func() bool { return both.waiting() == 2 })
		both.open()
		wg.Wait()
		started.is(t, "started", 1)
		refused.is(t, "refused", 1)
		if calls.count("charge") != 1 {
			t.Fatalf("%d charges", calls.count("charge"))
		}
	})
}

// claims B-27, B-28 and B-29: what is neither there nor accepted is a storage error, not a
// duplicate; a failed read-back sends nothing more; two stale tokens stay retryable.
func TestAStartThatCannotBeConfirmedIsAStorageError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		flow := loom.NewFlow("pay", func(_ loom.Context, n int) (int, error) { bodies.inc(); return n, nil })
		db := memstore.New(nil)
		heard := &hears{}
		rt, way := tapped(t, db, loom.Flows(flow), heard.hooks())
		for i, c := range []struct {
			why     store.Refusal
			noRead  bool
			commits int
			fenced  bool
		}{
			{store.RefusedHead, false, 2, false},
			{store.RefusedFence, false, 2, true},
			{store.RefusedHead, true, 1, false},
		} {
			id := fmt.Sprint("x", i)
			way.answering(func(call) (store.Result, bool) {
				return store.Result{Outcome: store.Refused, Refusal: c.why, Tip: store.Absent()}, true
			})
			way.failReads(c.noRead)
			run, err := flow.Start(t.Context(), rt, 0, loom.ID(id))
			var failed *loom.StorageWriteError
			var fenced *loom.StartFencedOutError
			var exists *loom.ExecutionAlreadyExistsError
			if run != nil || !errors.As(err, &failed) || string(failed.ID) != id || errors.As(err, &exists) || errors.As(err, &fenced) != c.fenced {
				t.Fatalf("%d: %v", i, err)
			}
			if c.fenced && !fenced.Retryable() {
				t.Fatal("not retryable")
			}
			if n := len(way.commits(id)); n != c.commits {
				t.Fatalf("%d: %d commits", i, n)
			}
			if got := fmt.Sprint(heard.all(id)); got != "[storage-error]" {
				t.Fatalf("%d: heard %s", i, got)
			}
		}
		way.answering(nil)
		way.failReads(false)
		bodies.is(t, "body entered", 0)
		// claims B-29 and B-30: tried again later, or refused as stale only once, it starts.
		yields(t, begin(t, flow, rt, 1, loom.ID("x1")), 1)
		stale := true
		way.answering(func(call) (store.Result, bool) {
			was := stale
			stale = false
			return store.Result{Outcome: store.Refused, Refusal: store.RefusedFence, Tip: store.Absent()}, was
		})
		yields(t, begin(t, flow, rt, 2, loom.ID("x2")), 2)
		bodies.is(t, "body entered", 2)
	})
}

// claim B-66: behind a lagging replica a strong read finds the duplicate; a store that
// does not honour it makes a loud storage error of it.
func TestALaggingReplicaIsNotBelieved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("x"))
		synctest.Wait()
		way.lagging(false) // strong reads see everything
		existing(t, flow, rt, 0, "x")
		way.lagging(true)
		_, err := flow.Start(t.Context(), rt, 0, loom.ID("x"))
		var failed *loom.StorageWriteError
		if !errors.As(err, &failed) {
			t.Fatal(err)
		}
	})
}

// A start of an id that is being deleted is refused for now (race 33).
func TestAStartOfWhatIsBeingDeletedIsRefusedForNow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pay", func(_ loom.Context, n int) (int, error) { return n, nil })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 1, loom.ID("x")), 1)
		h := headOf(t, db, "x")
		res, err := db.Commit(t.Context(), store.Request{Execution: "x", Nonce: store.Nonce{7}, Expect: h.Tip, Claim: &store.Claim{When: store.AtEnd}, State: store.StateDeleting})
		if err != nil || res[0].Outcome != store.Committed {
			t.Fatal(res, err)
		}
		if _, err := flow.Start(t.Context(), rt, 2, loom.ID("x")); !errors.Is(err, loom.ErrDeleting) {
			t.Fatal(err)
		}
		if err := rt.Signal(t.Context(), "x", "m", 1); !errors.Is(err, loom.ErrDeleting) {
			t.Fatal(err)
		}
		if _, err := db.Delete(t.Context(), event.ExecutionID("x"), res[0].Tip); err != nil {
			t.Fatal(err)
		}
		yields(t, begin(t, flow, rt, 2, loom.ID("x")), 2) // race 11: the id is free again
	})
}
