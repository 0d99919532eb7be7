package loom_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// existing starts an execution that must exist already.
func existing[In, Out any](t *testing.T, f *loom.Flow[In, Out], rt *loom.Runtime, in In, id string) *loom.ExecutionAlreadyExistsError {
	t.Helper()
	run, err := f.Start(t.Context(), rt, in, loom.ID(id))
	var exists *loom.ExecutionAlreadyExistsError
	if !errors.As(err, &exists) || run != nil {
		t.Fatalf("start of %s: %v, %v; want already-exists", id, run, err)
	}
	if string(exists.ID) != id {
		t.Fatalf("the error is about %q, the start was of %q", exists.ID, id)
	}
	return exists
}

// claim B-02, case 1: N starts of one id at once, on one node and on two: one handle, one
// log, one effect, N-1 typed refusals, each of which leads to a handle that gives the result.
func TestManyStartsOfOneIDAreOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, n := range []int{2, 8, 64} {
			for nodes := 1; nodes <= 2; nodes++ {
				var calls service
				var bodies counter
				flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) {
					bodies.inc()
					if v, err := step(ctx, &calls, "charge"); err != nil {
						return v, err
					}
					return "paid", loom.Sleep(ctx, "nap", time.Second)
				})
				db := memstore.New(nil)
				var rts []*loom.Runtime
				for range nodes {
					rts = append(rts, open(t, db, loom.Flows(flow)))
				}
				var started, refused counter
				var wg sync.WaitGroup
				for i := range n {
					wg.Go(func() {
						_, err := flow.Start(t.Context(), rts[i%nodes], 0, loom.ID("order"))
						var exists *loom.ExecutionAlreadyExistsError
						switch {
						case err == nil:
							started.inc()
						case errors.As(err, &exists):
							refused.inc()
							if v, err := attach[string](t, rts[i%nodes], string(exists.ID)).Result(soon(t)); err != nil || v != "paid" {
								t.Error(v, err)
							}
						default:
							t.Error(err)
						}
					})
				}
				wg.Wait()
				yields(t, attach[string](t, rts[nodes-1], "order"), "paid")
				existing(t, flow, rts[0], 0, "order") // and in turn
				started.is(t, "started", 1)
				refused.is(t, "refused", int64(n-1))
				bodies.is(t, "body entered", 1)
				if calls.count("charge") != 1 || len(everything(t, db)) != 1 {
					t.Fatalf("%d charges, executions %v", calls.count("charge"), everything(t, db))
				}
			}
		}
	})
}

// claims B-04 and B-18, oracle O14, case 4: a refused start leaves nothing: no event to
// its own subscribers, no report, no timer, no token; the log and its runner do not notice.
func TestARefusedStartLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) {
			v, err := step(ctx, &calls, "charge")
			if err != nil {
				return "", err
			}
			return v, loom.Sleep(ctx, "nap", time.Minute)
		})
		db := memstore.New(nil)
		winner, loser := &hears{}, &hears{}
		a := open(t, db, loom.Flows(flow), winner.hooks())
		b, way := tapped(t, db, loom.Flows(flow), loser.hooks())
		run := begin(t, flow, a, 0, loom.ID("order"))
		pass(t, time.Second)
		before, head := logOf(t, db, "order"), headOf(t, db, "order")
		for range 3 {
			existing(t, flow, b, 0, "order")
		}
		synctest.Wait()
		if got := loser.all("order"); len(got) != 0 {
			t.Fatalf("the loser heard %v", got)
		}
		if after := headOf(t, db, "order"); fmt.Sprint(after) != fmt.Sprint(head) || len(logOf(t, db, "order")) != len(before) {
			t.Fatalf("the head row moved: %+v", after)
		}
		if n := len(everything(t, db)); n != 1 {
			t.Fatalf("%d executions", n)
		}
		// claims B-37 and B-68: what a loser costs is one commit and one read.
		if got := fmt.Sprint(way.ops("order")); got != "[commit read commit read commit read]" {
			t.Fatal(got)
		}
		yields(t, run, "charge")
		pass(t, time.Second)
		// What the winner had heard by then is each event once, in order. Its wake-up may be
		// the other node's.
		if all := winner.all("order"); grammar(all) != nil || len(all) < 2*len(before) {
			t.Fatalf("the winner heard %v", all)
		}
		if n := len(winner.seen("order")) + len(loser.seen("order")); n != len(logOf(t, db, "order")) {
			t.Fatalf("%d events were heard of, the log has %d", n, len(logOf(t, db, "order")))
		}
		if calls.count("charge") != 1 || headOf(t, db, "order").Tip.Fence != head.Tip.Fence+1 { // its own wake-up
			t.Fatalf("%d charges", calls.count("charge"))
		}
	})
}

// claim H-22: the refusal says what exists.
func TestARefusalSaysWhatExists(t *testing.T) {
	bubble(t, func(t *testing.T) {
		one := loom.NewFlow("one", func(ctx loom.Context, _ string) (string, error) { return loom.Await[string](ctx, "word") })
		two := loom.NewFlow("two", func(loom.Context, string) (string, error) { return "", nil })
		rt := open(t, memstore.New(nil), loom.Flows(one, two))
		run := begin(t, one, rt, "input", loom.ID("x"), loom.Labels(map[string]string{"a": "1"}))
		if e := existing(t, one, rt, "input", "x"); !e.SameRequest || e.Flow != "one" || e.Status != fold.Running {
			t.Fatalf("%+v", e)
		}
		if e := existing(t, one, rt, "another", "x"); e.SameRequest {
			t.Fatal("another input is the same request")
		}
		if e := existing(t, two, rt, "input", "x"); e.SameRequest || e.Flow != "one" {
			t.Fatal("another flow is the same request")
		}
		if err := run.Signal(t.Context(), "word", "done"); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "done")
		if e := existing(t, one, rt, "input", "x"); !e.SameRequest || e.Status != fold.Completed {
			t.Fatalf("%+v", e)
		}
	})
}

// claims B-20, B-41 and B-70: the error is public, and three lines make of it what "start once"
// would be; see also ExampleFlow_Start_once.
func TestTheThreeLinesThatStartOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		once := func(id string) (*loom.Run[string], error) {
			run, err := flow.Start(t.Context(), rt, 0, loom.ID(id))
			var exists *loom.ExecutionAlreadyExistsError
			if errors.As(err, &exists) {
				return loom.Attach[string](rt, id)
			}
			return run, err
		}
		for _, id := range []string{"message-17", "idempotency:0af3", "nightly:2024-01-01T02:30:00Z"} {
			for range 3 {
				run, err := once(id)
				if err != nil {
					t.Fatal(err)
				}
				yields(t, run, "charge")
			}
		}
		if calls.count("charge") != 3 {
			t.Fatalf("%d calls", calls.count("charge"))
		}
	})
}

// A start is refused for its context before anything is written.
func TestAStartWithAContextThatHasEndedWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pay", func(_ loom.Context, n int) (int, error) { return n, nil })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errDeclined)
		for _, opts := range [][]loom.StartOption{nil, {loom.ID("x")}, {loom.Delay(time.Hour)}} {
			if _, err := flow.Start(ctx, rt, 0, opts...); !errors.Is(err, errDeclined) {
				t.Error(err)
			}
		}
		if ids := everything(t, db); len(ids) != 0 {
			t.Fatal(ids)
		}
	})
}
