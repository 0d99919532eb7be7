package loom_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// signal sends a message that must be taken.
func signal(t *testing.T, rt *loom.Runtime, id, name string, v any, opts ...loom.SignalOption) {
	t.Helper()
	if err := rt.Signal(t.Context(), id, name, v, opts...); err != nil {
		t.Fatalf("signal %s to %s: %v", name, id, err)
	}
}

func TestAwaitReceivesAMessageThatComesLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("wait", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		for _, unload := range []time.Duration{time.Hour, time.Second} { // in memory, and parked
			db := memstore.New(nil)
			rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload})
			run := begin(t, flow, rt, 0)
			pass(t, time.Minute)
			if parked := headOf(t, db, run.ID()).Owner == ""; parked != (unload < time.Hour) {
				t.Fatalf("unload after %v, parked: %v", unload, parked)
			}
			if err := run.Signal(t.Context(), "word", "hello"); err != nil {
				t.Fatal(err)
			}
			yields(t, run, "hello")
			shut(t, rt)
		}
	})
}

// case 47: a message that comes before anybody waits for it is kept.
func TestAwaitReceivesAMessageThatCameBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("late", func(ctx loom.Context, _ int) (string, error) {
			if err := loom.Sleep(ctx, "nap", 5*time.Minute); err != nil {
				return "", err
			}
			return loom.Await[string](ctx, "word")
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		signal(t, rt, run.ID(), "word", "early")
		yields(t, run, "early")
	})
}

func TestThousandsOfMessagesBeforeTheFirstAwaitComeInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 3000
		flow := loom.NewFlow("many", func(ctx loom.Context, _ int) (int, error) {
			if err := loom.Sleep(ctx, "nap", 5*time.Minute); err != nil {
				return 0, err
			}
			for i := range n {
				v, err := loom.Await[int](ctx, "n")
				if err != nil || v != i {
					return i, fmt.Errorf("message %d is %d, %v", i, v, err)
				}
			}
			return n, nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		for i := range n {
			signal(t, rt, run.ID(), "n", i)
		}
		yields(t, run, n)
		if ms, _, _ := db.Pending(t.Context(), event.ExecutionID(run.ID()), 0, 10); len(ms) != 0 {
			t.Fatalf("%d messages left in the inbox", len(ms))
		}
	})
}

func TestTwoAwaitsOfOneNameGetTheirsInTheOrderInWhichTheyBegan(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("two", func(ctx loom.Context, _ int) (string, error) {
			get := func(ctx loom.Context) (string, error) { return loom.Await[string](ctx, "word") }
			a, b := loom.Go(ctx, "a", get), loom.Go(ctx, "b", get)
			all, err := loom.All(ctx, a, b)
			return fmt.Sprint(all), err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0)
		signal(t, rt, run.ID(), "word", "first")
		signal(t, rt, run.ID(), "word", "second")
		yields(t, run, "[first second]")
	})
}

func TestWithinEndsAnAwait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("limit", func(ctx loom.Context, d time.Duration) (string, error) {
			before := loom.Now(ctx)
			_, err := loom.Await[int](ctx, "never", loom.Within(d))
			return fmt.Sprint(errors.Is(err, loom.ErrTimeout), loom.Now(ctx).Sub(before) >= d), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow), loom.Tuning{Unload: time.Second})
		for _, d := range []time.Duration{-1, 0, time.Millisecond, 5 * time.Minute} {
			yields(t, begin(t, flow, rt, d), "true true")
		}
	})
}

// case 38: a wait that ran out takes no other wait with it, and (case 48) stays so.
func TestATimeoutDisturbsOnlyItsOwnWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("limits", func(ctx loom.Context, _ int) (string, error) {
			other := loom.Go(ctx, "other", func(ctx loom.Context) (string, error) { return loom.Await[string](ctx, "word", loom.Within(time.Hour)) })
			_, first := loom.Await[string](ctx, "word", loom.Within(time.Second))
			_, second := loom.Await[string](ctx, "word", loom.Within(time.Second))
			got, err := other.Get(ctx)
			if err != nil {
				return "", err
			}
			last, err := loom.Await[string](ctx, "word")
			return fmt.Sprintf("%v %v %s %s", errors.Is(first, loom.ErrTimeout), errors.Is(second, loom.ErrTimeout), got, last), err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: 500 * time.Millisecond})
		run := begin(t, flow, rt, 0)
		pass(t, time.Minute)
		signal(t, rt, run.ID(), "word", "x")
		signal(t, rt, run.ID(), "word", "y")
		yields(t, run, "true true x y")
		if n := len(payloads[event.TimerFired](t, db, run.ID())); n != 2 {
			t.Fatalf("%d timeouts recorded", n)
		}
	})
}

// A message that was durable before the limit counts, also if nobody was there to
// record it until the limit had passed.
func TestAMessageThatCameInTimeCountsThoughNobodyWasThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("limit", func(ctx loom.Context, _ int) (string, error) {
			return loom.Await[string](ctx, "word", loom.Within(time.Hour))
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("l"))
		until(t, "the await", func() bool { return len(logOf(t, db, "l")) == 2 })
		shut(t, rt)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		signal(t, client, "l", "word", "in time")
		pass(t, 2*time.Hour)
		rt = open(t, db, loom.Flows(flow))
		yields(t, attach[string](t, rt, "l"), "in time")
	})
}

// Within(0) asks for what is there.
func TestWithinZeroTakesAMessageThatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("poll", func(ctx loom.Context, _ int) (string, error) {
			if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
				return "", err
			}
			a, err := loom.Await[string](ctx, "word", loom.Within(0))
			if err != nil {
				return "", err
			}
			_, none := loom.Await[string](ctx, "word", loom.Within(0))
			return fmt.Sprintf("%s %v", a, errors.Is(none, loom.ErrTimeout)), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0)
		signal(t, rt, run.ID(), "word", "x")
		yields(t, run, "x true")
	})
}

// race 36: a message that is sent again under its id is received once, before and
// after it was recorded.
func TestARepeatedMessageIsReceivedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("once", func(ctx loom.Context, _ int) (string, error) {
			a, err := loom.Await[string](ctx, "word")
			if err != nil {
				return "", err
			}
			b, err := loom.Await[string](ctx, "word")
			return a + b, err
		})
		for _, unload := range []time.Duration{time.Hour, time.Second} {
			db := memstore.New(nil)
			rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload})
			run := begin(t, flow, rt, 0)
			signal(t, rt, run.ID(), "word", "a", loom.MessageID("m1"))
			signal(t, rt, run.ID(), "word", "a", loom.MessageID("m1")) // pending still
			until(t, "it is recorded", func() bool { return len(payloads[event.MessageReceived](t, db, run.ID())) == 1 })
			for range 3 {
				signal(t, rt, run.ID(), "word", "a", loom.MessageID("m1"))
				pass(t, 5*time.Second)
			}
			if n := len(payloads[event.MessageReceived](t, db, run.ID())); n != 1 {
				t.Fatalf("received %d times", n)
			}
			signal(t, rt, run.ID(), "word", "b")
			yields(t, run, "ab")
			shut(t, rt)
		}
	})
}

// A message of another type is used up, with a typed error; the body goes on.
func TestAMessageOfAnotherTypeIsATypedError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("typed", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Await[int](ctx, "n")
			var invalid *loom.InputValidationError
			if !errors.As(err, &invalid) || invalid.What != "message n" {
				return "", fmt.Errorf("not a validation error: %w", err)
			}
			n, err := loom.Await[int](ctx, "n")
			return fmt.Sprint(n), err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0)
		signal(t, rt, run.ID(), "n", "seven")
		signal(t, rt, run.ID(), "n", 7)
		yields(t, run, "7")
	})
}

// What is no JSON at all can only come from another program: it is set aside with a
// warning and does not stop what comes after it.
func TestAMessageThatIsNoJSONIsDroppedWithAWarning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		warned := &warnings{}
		flow := loom.NewFlow("wait", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), warned.hooks())
		run := begin(t, flow, rt, 0, loom.ID("w"))
		synctest.Wait()
		if _, err := db.Post(t.Context(), "w", messageOf("n", "{")); err != nil {
			t.Fatal(err)
		}
		signal(t, rt, "w", "n", 5)
		yields(t, run, 5)
		var invalid *loom.InputValidationError
		if errs := warned.of("w"); len(errs) != 1 || !errors.As(errs[0], &invalid) {
			t.Fatalf("warnings: %v", errs)
		}
	})
}
