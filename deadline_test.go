package loom_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

func TestADeadlineEndsAnExecutionAsFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("late", func(ctx loom.Context, _ int) (int, error) { return 0, loom.Sleep(ctx, "nap", time.Hour) })
		for _, unload := range []time.Duration{2 * time.Hour, time.Second} {
			db := memstore.New(nil)
			rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload})
			at := time.Now().Add(5 * time.Minute)
			run := begin(t, flow, rt, 0, loom.ID("d"), loom.Deadline(at))
			err := fails(t, run)
			if err.Status != fold.Failed || !errors.Is(err, loom.ErrDeadline) || !errors.Is(err, loom.ErrCancelled) {
				t.Fatalf("%+v", err)
			}
			if now := time.Now(); now.Before(at) || now.After(at.Add(5*time.Second)) {
				t.Fatalf("%v after the deadline", now.Sub(at))
			}
			if s := stateOf(t, db, "d"); s.Cancel.Cause != "deadline" || s.Updated.Time().Before(at) {
				t.Fatalf("%+v", s.Cancel)
			}
			shut(t, rt)
		}
	})
}

func TestABodyMayCompleteInSpiteOfItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("late", func(ctx loom.Context, _ int) (string, error) {
			return fmt.Sprint(loom.Sleep(ctx, "nap", time.Hour) == loom.ErrCancelled), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.Deadline(time.Now().Add(time.Minute))), "true")
	})
}

func TestADeadlineInThePastCancelsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("past", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "x") })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.Deadline(time.Now().Add(-time.Hour)))
		if err := fails(t, run); !errors.Is(err, loom.ErrDeadline) || calls.count("") != 0 {
			t.Fatalf("%v, %d calls", err, calls.count(""))
		}
	})
}

func TestADeadlineThatIsNotReachedChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("soon", func(ctx loom.Context, _ int) (int, error) { return 1, loom.Sleep(ctx, "nap", time.Minute) })
		rt := open(t, memstore.New(nil), loom.Flows(flow), loom.Tuning{Unload: time.Second})
		yields(t, begin(t, flow, rt, 0, loom.Deadline(time.Now().Add(time.Hour))), 1)
	})
}

// A delayed start is durable at once and begins when its time has come, on a node
// that was not there when it was asked for.
func TestADelayedStartBeginsLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("later", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "x") })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		before := time.Now()
		run := begin(t, flow, rt, 0, loom.ID("l"), loom.Delay(10*time.Minute))
		if err := run.Durable(t.Context()); err != nil || len(logOf(t, db, "l")) != 1 {
			t.Fatal("not durable at once", err)
		}
		shut(t, rt)
		rt = open(t, db, loom.Flows(flow))
		pass(t, 9*time.Minute)
		if calls.count("") != 0 {
			t.Fatal("begun too early")
		}
		yields(t, attach[string](t, rt, "l"), "x")
		if took := time.Since(before); took < 10*time.Minute || took > 11*time.Minute {
			t.Fatalf("begun after %v", took)
		}
	})
}

// A delayed start of a chosen id is once for all too.
func TestADelayedStartOfAnIDIsOnceForAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("later", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "x") })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("l"), loom.Delay(time.Minute))
		for _, opt := range []loom.StartOption{loom.Delay(0), loom.Delay(time.Second)} {
			_, err := flow.Start(t.Context(), rt, 0, loom.ID("l"), opt)
			var exists *loom.ExecutionAlreadyExistsError
			if !errors.As(err, &exists) || exists.Status != fold.Running {
				t.Fatalf("%v", err)
			}
		}
		yields(t, run, "x")
		if calls.count("") != 1 {
			t.Fatalf("%d calls", calls.count(""))
		}
	})
}

// A message to a delayed start waits with it.
func TestAMessageDoesNotBeginADelayedStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var entered counter
		flow := loom.NewFlow("later", func(ctx loom.Context, _ int) (string, error) {
			entered.inc()
			return loom.Await[string](ctx, "word")
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.Delay(10*time.Minute))
		signal(t, rt, run.ID(), "word", "early")
		pass(t, 5*time.Minute)
		entered.is(t, "body entered before its time", 0)
		yields(t, run, "early")
	})
}

// The deadline of a delayed start counts while it waits.
func TestADelayedStartMayRunIntoItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("later", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "x") })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		before := time.Now()
		run := begin(t, flow, rt, 0, loom.Delay(time.Hour), loom.Deadline(before.Add(time.Minute)))
		if err := fails(t, run); !errors.Is(err, loom.ErrDeadline) || calls.count("") != 0 {
			t.Fatalf("%v, %d calls", err, calls.count(""))
		}
		if took := time.Since(before); took < time.Minute || took > 2*time.Minute {
			t.Fatalf("ended after %v", took)
		}
	})
}

func TestAContextThatEndsEndsTheWaitForAResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("slow", func(ctx loom.Context, _ int) (int, error) { return 1, loom.Sleep(ctx, "nap", time.Minute) })
		for _, unload := range []time.Duration{time.Hour, time.Millisecond} {
			rt := open(t, memstore.New(nil), loom.Flows(flow), loom.Tuning{Unload: unload})
			run := begin(t, flow, rt, 0)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := run.Result(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			yields(t, run, 1)
		}
	})
}
