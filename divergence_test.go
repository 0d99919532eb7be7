package loom_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// builds are bodies of one flow, the first of them the one that is recorded.
var builds = map[string]func(ctx loom.Context) (string, error){
	"recorded": func(ctx loom.Context) (string, error) {
		if _, err := loom.Do(ctx, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
			return "", err
		}
		return loom.Await[string](ctx, "word")
	},
	"another step": func(ctx loom.Context) (string, error) {
		_, err := loom.Do(ctx, "b", func(context.Context) (int, error) { panic("called by a diverged body") })
		return "", err
	},
	"another kind": func(ctx loom.Context) (string, error) { return "", loom.Sleep(ctx, "a", 0) },
	"an end":       func(loom.Context) (string, error) { return "done", nil },
	"one more": func(ctx loom.Context) (string, error) {
		_ = loom.Go(ctx, "extra", func(ctx loom.Context) (int, error) { return 0, loom.Sleep(ctx, "s", time.Hour) })
		_, err := loom.Do(ctx, "a", func(context.Context) (int, error) { return 1, nil })
		return "", err
	},
	"less": func(ctx loom.Context) (string, error) {
		if _, err := loom.Do(ctx, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return "", err
		}
		return loom.Await[string](ctx, "word")
	},
	"another message": func(ctx loom.Context) (string, error) {
		if _, err := loom.Do(ctx, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
			return "", err
		}
		return loom.Await[string](ctx, "other")
	},
}

// race 29: a build that does not fit the log writes nothing, lets the execution go, and
// does not look at it again; one that fits goes on with it, anywhere.
func TestRace29ADivergedBuildLetsGoAndAFixedOneGoesOn(t *testing.T) {
	for name, body := range builds {
		if name == "recorded" {
			continue
		}
		bubble(t, func(t *testing.T) {
			build := func(body func(ctx loom.Context) (string, error)) *loom.Flow[int, string] {
				return loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) { return body(ctx) })
			}
			var entered counter
			good := build(builds["recorded"])
			bad := build(func(ctx loom.Context) (string, error) { entered.inc(); return body(ctx) })
			db := memstore.New(nil)
			first := open(t, db, loom.Flows(good))
			begin(t, good, first, 0, loom.ID("x"))
			until(t, "the await", func() bool { return len(payloads[event.MessageAwaited](t, db, "x")) == 1 })
			shut(t, first)
			before := logOf(t, db, "x")

			warned := &warnings{}
			old, way := tapped(t, db, loom.Flows(bad), warned.hooks())
			signal(t, old, "x", "word", "hello")
			_, err := attach[string](t, old, "x").Result(soon(t))
			var diverged *loom.DivergedError
			if !errors.As(err, &diverged) || diverged.ID != "x" || diverged.Recorded == "" || diverged.Asked == "" || diverged.Recorded == diverged.Asked {
				t.Fatalf("%s: %v", name, err)
			}
			pass(t, time.Minute)
			entered.is(t, name+": body entered", 1)
			if after := logOf(t, db, "x"); !slices.EqualFunc(after, before, event.Envelope.Equal) {
				t.Fatalf("%s: something was written: %s", name, kinds(after))
			}
			if h := headOf(t, db, "x"); h.Owner != "" || h.State != store.StateRunning {
				t.Fatalf("%s: not let go: %+v", name, h)
			}
			if n := len(way.commits("x")); n != 2 { // the claim and the release
				t.Fatalf("%s: %d commits", name, n)
			}
			if errs := warned.of("x"); len(errs) != 1 || !errors.As(errs[0], &diverged) {
				t.Fatalf("%s: warnings %v", name, errs)
			}
			// Result says it once; then it follows the store.
			fixed := open(t, db, loom.Flows(good))
			yields(t, attach[string](t, old, "x"), "hello")
			yields(t, attach[string](t, fixed, "x"), "hello")
			entered.is(t, name+": body entered", 1)
		})
	}
}

// The old build looks again when the head has moved.
func TestADivergedBuildLooksAgainWhenTheHeadMoves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var broken atomic.Bool
		var entered counter
		flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
			entered.inc()
			if broken.Load() {
				return "", loom.Sleep(ctx, "wrong", 0)
			}
			return builds["recorded"](ctx)
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: 100 * time.Millisecond})
		begin(t, flow, rt, 0, loom.ID("x"))
		until(t, "parked in the await", func() bool {
			h := headOf(t, db, "x")
			return h.Owner == "" && len(payloads[event.MessageAwaited](t, db, "x")) == 1
		})
		broken.Store(true)
		signal(t, rt, "x", "word", "hello")
		pass(t, time.Minute)
		var diverged *loom.DivergedError
		if _, err := attach[string](t, rt, "x").Result(t.Context()); !errors.As(err, &diverged) {
			t.Fatal(err)
		}
		was := entered.Load()
		broken.Store(false) // in this process nothing tells that the code has changed
		pass(t, time.Minute)
		entered.is(t, "body entered", was)
		h := headOf(t, db, "x")
		res, err := db.Commit(t.Context(), store.Request{Execution: "x", Nonce: store.Nonce{9}, Expect: h.Tip,
			Events: []event.Envelope{{Execution: "x", Sequence: h.Tip.Head + 1, Kind: "NOTE_OF_A_NEWER_BUILD", Time: h.Updated, Payload: []byte("{}")}}})
		if err != nil || res[0].Outcome != store.Committed {
			t.Fatal(res, err)
		}
		yields(t, attach[string](t, rt, "x"), "hello")
	})
}

// plant writes an execution whose log is as given, unowned and due.
func plant(t *testing.T, db *memstore.DB, id, flow string, log ...event.Envelope) {
	t.Helper()
	for i := range log {
		log[i].Execution, log[i].Sequence = event.ExecutionID(id), event.Seq(i)
		log[i].Time = event.At(time.Now())
	}
	res, err := db.Commit(t.Context(), store.Request{Execution: event.ExecutionID(id), Nonce: store.Nonce{1}, Expect: store.Absent(),
		Events: log, Index: &store.IndexEntry{Flow: flow}, Release: &store.Release{}})
	if err != nil || res[0].Outcome != store.Committed {
		t.Fatal(res, err)
	}
}

// cases 33, 74 and 9: a log that cannot be read is not claimed; it is set aside with one
// warning and without a hot loop, and its neighbours run.
func TestAnUnreadableLogIsSetAsideAndItsNeighboursRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "x") })
		started := event.Encode(event.ExecutionStarted{Flow: "flow", Input: []byte("0"), Seed: "00"})
		other := event.Encode(event.ExecutionStarted{Flow: "another", Input: []byte("0"), Seed: "00"})
		db := memstore.New(nil)
		bad := map[string][]event.Envelope{
			"torn":       {{Kind: event.KindExecutionStarted, Payload: started[:len(started)-3]}},
			"not-json":   {{Kind: event.KindExecutionStarted, Payload: []byte("\xff\x00")}},
			"no-start":   {{Kind: event.KindTimerFired, Payload: event.Encode(event.TimerFired{Op: "x#1"})}},
			"impossible": {{Kind: event.KindExecutionStarted, Payload: started}, {Kind: event.KindTimerFired, Payload: event.Encode(event.TimerFired{Op: "x#1"})}},
			"mislabeled": {{Kind: event.KindExecutionStarted, Payload: other}},
			"ended":      {{Kind: event.KindExecutionStarted, Payload: started}, {Kind: event.KindExecutionCompleted, Payload: event.Encode(event.ExecutionCompleted{Result: []byte("1")})}},
		}
		for id, log := range bad {
			plant(t, db, id, "flow", log...)
		}
		plant(t, db, "good", "flow", event.Envelope{Kind: event.KindExecutionStarted, Payload: started})
		warned := &warnings{}
		rt, way := tapped(t, db, loom.Flows(flow), warned.hooks())
		yields(t, attach[string](t, rt, "good"), "x")
		yields(t, begin(t, flow, rt, 0), "x")
		pass(t, 10*time.Minute)
		for id := range bad {
			if h := headOf(t, db, id); h.Tip.Fence != 0 || h.Owner != "" || h.Strikes != 0 {
				t.Errorf("%s was claimed: %+v", id, h)
			}
			if n := len(warned.of(id)); n != 1 {
				t.Errorf("%s: %d warnings: %v", id, n, warned.of(id))
			}
			if n := len(way.reads(id)); n != 1 {
				t.Errorf("%s was read %d times", id, n)
			}
			if _, err := attach[string](t, rt, id).Result(t.Context()); err == nil {
				t.Errorf("%s has a result", id)
			}
		}
		if s, err := rt.Summary(t.Context(), "torn"); err != nil || s.Status != fold.Running {
			t.Fatalf("%+v, %v", s, err)
		}
	})
}

// An event of a kind that this build does not know is kept, and the execution goes on.
func TestAnUnknownKindOfEventIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("flow", func(ctx loom.Context, n int) (int, error) { return n, loom.Sleep(ctx, "nap", 0) })
		db := memstore.New(nil)
		plant(t, db, "x", "flow",
			event.Envelope{Kind: event.KindExecutionStarted, Payload: event.Encode(event.ExecutionStarted{Flow: "flow", Input: []byte("4"), Seed: "00"})},
			event.Envelope{Kind: "FROM_THE_FUTURE", Payload: []byte(`{"z":1, "a":[]}`)})
		rt := open(t, db, loom.Flows(flow))
		yields(t, attach[int](t, rt, "x"), 4)
		if e := logOf(t, db, "x")[1]; e.Kind != "FROM_THE_FUTURE" || string(e.Payload) != `{"z":1, "a":[]}` {
			t.Fatalf("%+v", e)
		}
	})
}

// case 14: a log that has its end needs no code: the flow is not called, and any node can
// give the result.
func TestAnEndedExecutionNeedsNoCode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var entered counter
		flow := loom.NewFlow("flow", func(loom.Context, int) (string, error) { entered.inc(); return "done", nil })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.ID("x")), "done")
		shut(t, rt)
		rt = open(t, db)
		pass(t, time.Minute)
		yields(t, attach[string](t, rt, "x"), "done")
		entered.is(t, "body entered", 1)
		if err := rt.Signal(t.Context(), "x", "m", 1); !errors.Is(err, loom.ErrEnded) {
			t.Fatal(err)
		}
	})
}
