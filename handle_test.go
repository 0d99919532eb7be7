package loom_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

func TestAttachGivesTheResultOfWhatIsThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("slow", func(ctx loom.Context, n int) (int, error) { return n, loom.Sleep(ctx, "nap", time.Minute) })
		db := memstore.New(nil)
		here, there := open(t, db, loom.Flows(flow)), open(t, db, loom.Tuning{ClientOnly: true})
		begin(t, flow, here, 7, loom.ID("a"))
		running := attach[int](t, there, "a")
		if running.ID() != "a" {
			t.Fatal(running.ID())
		}
		yields(t, running, 7)
		yields(t, attach[int](t, here, "a"), 7) // and of what has ended
		yields(t, attach[int](t, there, "a"), 7)
	})
}

func TestAttachRefusesABadID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rt := open(t, memstore.New(nil))
		for _, id := range []string{"", "a b", "a\x00", "ü"} {
			_, err := loom.Attach[int](rt, id)
			var bad *loom.IDError
			if !errors.As(err, &bad) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

func TestAResultOfAnotherTypeIsATypedError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("text", func(loom.Context, int) (string, error) { return "seven", nil })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("a"))
		_, err := attach[int](t, rt, "a").Result(soon(t))
		var invalid *loom.InputValidationError
		if !errors.As(err, &invalid) || invalid.What != "result of execution a" {
			t.Fatal(err)
		}
	})
}

// A result is handed to nobody before the terminal commit is acknowledged (claim H-03).
func TestAResultIsDurableBeforeItIsHandedOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(_ loom.Context, n int) (int, error) { return n, nil })
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		for _, opts := range [][]loom.StartOption{nil, {loom.ID("chosen")}} {
			commits := shutGate(t)
			way.on(func(c call) {
				if c.op == "commit" && c.req.State.Terminal() {
					commits.pass()
				}
			})
			run := begin(t, flow, rt, 4, opts...)
			got := make(chan error, 2)
			go func() { _, err := run.Result(soon(t)); got <- err }()
			go func() { _, err := attach[int](t, rt, run.ID()).Result(soon(t)); got <- err }()
			pass(t, 5*time.Second)
			select {
			case err := <-got:
				t.Fatalf("a result that is not durable was handed out: %v", err)
			default:
			}
			commits.open()
			for range 2 {
				if err := <-got; err != nil {
					t.Fatal(err)
				}
			}
			if s := stateOf(t, db, run.ID()); string(s.Result) != "4" {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func TestDurableWaitsForSequenceZero(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		commits := shutGate(t)
		way.commitGate(commits, "")
		run := begin(t, flow, rt, 0)
		if len(everything(t, db)) != 0 {
			t.Fatal("not gated")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := run.Durable(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		commits.open()
		if err := run.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(logOf(t, db, run.ID())) == 0 {
			t.Fatal("Durable returned before it was")
		}
		if err := begin(t, flow, rt, 0, loom.ID("chosen")).Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Many may wait for one result, at once and again.
func TestAResultCanBeAskedForByManyAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("slow", func(ctx loom.Context, n int) (int, error) { return n, loom.Sleep(ctx, "nap", time.Second) })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 3)
		errs := make(chan error, 20)
		for range 20 {
			go func() {
				v, err := run.Result(soon(t))
				if err == nil && v != 3 {
					err = errors.New("another result")
				}
				errs <- err
			}()
		}
		for range 20 {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		yields(t, run, 3)
	})
}

// A result is known to a handle of another node as soon as hints allow, and without
// hints after a poll.
func TestAResultIsSeenFromAnotherNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		here, there := open(t, db, loom.Flows(flow)), open(t, db, loom.Tuning{ClientOnly: true})
		run := begin(t, flow, here, 0)
		synctest.Wait()
		signal(t, there, run.ID(), "n", 5)
		before := time.Now()
		yields(t, attach[int](t, there, run.ID()), 5)
		if took := time.Since(before); took > time.Second {
			t.Fatalf("seen after %v", took)
		}
	})
}
