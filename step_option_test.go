package loom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

func TestAReadOnlyStepHasNoIntent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("look", func(ctx loom.Context, _ int) (int, error) {
			a, err := loom.Do(ctx, "look", func(context.Context) (int, error) { return 3, nil }, loom.ReadOnly())
			if err != nil {
				return 0, err
			}
			return loom.Do(ctx, "act", func(context.Context) (int, error) { return a + 1, nil })
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.ID("l")), 4)
		if got := kinds(logOf(t, db, "l")); got != "EXECUTION_STARTED EFFECT_COMPLETED EFFECT_SCHEDULED EFFECT_COMPLETED EXECUTION_COMPLETED" {
			t.Fatalf("log: %s", got)
		}
		if op := stateOf(t, db, "l").Op("look#1"); !op.ReadOnly || op.Open() {
			t.Fatalf("%+v", op)
		}
	})
}

// A read-only step waits for no store, and what uses its result is not called before
// that is durable.
func TestAReadOnlyStepHasNoBarrier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("look", func(ctx loom.Context, _ int) (string, error) {
			for range 3 {
				if _, err := step(ctx, &calls, "look", loom.ReadOnly()); err != nil {
					return "", err
				}
			}
			return step(ctx, &calls, "act")
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		commits := shutGate(t)
		way.commitGate(commits, "")
		run := begin(t, flow, rt, 0) // minted: not durable yet
		until(t, "three looks", func() bool { return calls.count("look") == 3 })
		if calls.count("act") != 0 {
			t.Fatal("an effect before what it rests on was durable")
		}
		commits.open()
		yields(t, run, "act")
		log := kinds(logOf(t, db, run.ID()))
		if !strings.HasPrefix(log, "EXECUTION_STARTED EFFECT_COMPLETED EFFECT_COMPLETED EFFECT_COMPLETED EFFECT_SCHEDULED") {
			t.Fatalf("log: %s", log)
		}
	})
}

func TestAReadOnlyStepsErrorAndRetriesAreRecorded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("look", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "look", func(context.Context) (int, error) {
				calls.call("x")
				return 0, errDeclined
			}, loom.ReadOnly(), loom.Retry{Attempts: 2})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		if err := fails(t, begin(t, flow, rt, 0, loom.ID("l"))); !errors.Is(err, errDeclined) || calls.count("") != 2 {
			t.Fatalf("%v after %d calls", err, calls.count(""))
		}
		if got := kinds(logOf(t, db, "l")); got != "EXECUTION_STARTED EFFECT_ATTEMPT_FAILED EFFECT_FAILED EXECUTION_FAILED" {
			t.Fatalf("log: %s", got)
		}
	})
}

func TestArgsAreRecordedWithTheIntent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("args", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "x", func(context.Context) (int, error) { return 1, nil },
				loom.Args(map[string]any{"b": "<x>", "a": 1}))
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.ID("a")), 1)
		if got := payloads[event.EffectScheduled](t, db, "a")[0]; string(got.Args) != `{"a":1,"b":"<x>"}` || got.Op != "x#1" {
			t.Fatalf("%s", got.Args)
		}
	})
}

func TestArgsThatDriftDiverge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		args := "old"
		flow := loom.NewFlow("args", func(ctx loom.Context, _ int) (bool, error) {
			if _, err := loom.Do(ctx, "x", func(context.Context) (int, error) { return 1, nil }, loom.Args(args)); err != nil {
				return false, err
			}
			return loom.Await[bool](ctx, "go")
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("a"))
		until(t, "the await", func() bool { return len(payloads[event.MessageAwaited](t, db, "a")) == 1 })
		shut(t, rt)
		before := logOf(t, db, "a")
		args = "new"
		rt = open(t, db, loom.Flows(flow))
		if err := rt.Signal(t.Context(), "a", "go", true); err != nil {
			t.Fatal(err)
		}
		_, err := attach[bool](t, rt, "a").Result(soon(t))
		var diverged *loom.DivergedError
		if !errors.As(err, &diverged) || diverged.Sequence != 1 ||
			!strings.Contains(diverged.Recorded, `"old"`) || !strings.Contains(diverged.Asked, `"new"`) {
			t.Fatalf("%v", err)
		}
		if after := logOf(t, db, "a"); len(after) != len(before) {
			t.Fatalf("something was written: %s", kinds(after))
		}
	})
}

// keys runs one execution of a flow that notes the key of each call, and returns them.
func keysOf(t *testing.T, db *memstore.DB, id string) []string {
	t.Helper()
	var keys []string
	hold := shutGate(t)
	flow := loom.NewFlow("keys", func(ctx loom.Context, _ int) (int, error) {
		for i := range 2 {
			_, err := loom.Do(ctx, "charge", func(ctx context.Context) (int, error) {
				keys = append(keys, loom.IdempotencyKey(ctx))
				hold.pass()
				if loom.Attempt(ctx) == 1 {
					return 0, errors.New("again")
				}
				return 0, nil
			}, loom.Retry{Attempts: 2})
			if err != nil {
				return i, err
			}
		}
		return 0, nil
	})
	first, way := tapped(t, db, loom.Flows(flow))
	begin(t, flow, first, 0, loom.ID(id))
	until(t, "the first call", func() bool { return hold.waiting() == 1 })
	way.kill() // so that attempt 1 is made twice, the second time by another node
	second := open(t, db, loom.Flows(flow))
	until(t, "the second call", func() bool { return hold.waiting() == 2 })
	hold.open()
	yields(t, attach[int](t, second, id), 0)
	shut(t, second)
	return keys
}

func TestAnIdempotencyKeyIsThatOfItsStepAndExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		a := keysOf(t, db, "a")
		if len(a) != 5 || a[0] != a[1] || a[1] != a[2] || a[3] != a[4] || a[2] == a[3] || len(a[0]) != 26 {
			t.Fatalf("keys of attempts and restarts: %q", a)
		}
		if b := keysOf(t, db, "b"); b[0] == a[0] {
			t.Fatal("two executions share a key")
		}
		erase(t, db, "a")
		if again := keysOf(t, db, "a"); again[0] == a[0] || again[3] == a[3] {
			t.Fatal("a re-created execution has the keys of the deleted one")
		}
	})
}

func TestOutsideOfAnEffectThereIsNoKey(t *testing.T) {
	ctx := context.Background()
	if _, _, ok := loom.StepOf(ctx); ok || loom.IdempotencyKey(ctx) != "" || loom.Attempt(ctx) != 0 {
		t.Fatal("an effect where there is none")
	}
}

func TestStepOfNamesTheStepAlsoInADerivedContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("who", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "who", func(ctx context.Context) (string, error) {
				derived, cancel := context.WithCancel(ctx)
				defer cancel()
				execution, step, ok := loom.StepOf(derived)
				return fmt.Sprint(execution, " ", step, " ", ok), nil
			})
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.ID("w")), "w who#1 true")
	})
}
