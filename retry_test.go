package loom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

func TestAStepIsNotRetriedUnlessAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("once", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "fail", func(context.Context) (int, error) { calls.call("fail"); return 0, errDeclined })
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		if err := fails(t, begin(t, flow, rt, 0)); !errors.Is(err, errDeclined) || calls.count("") != 1 {
			t.Fatalf("%v after %d calls", err, calls.count(""))
		}
	})
}

func TestRetryMakesAttemptsUntilOneSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var attempts []int
		flow := loom.NewFlow("flaky", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "flaky", func(ctx context.Context) (int, error) {
				attempts = append(attempts, loom.Attempt(ctx))
				if len(attempts) < 4 {
					return 0, fmt.Errorf("attempt %d", len(attempts))
				}
				return 42, nil
			}, loom.Retry{Attempts: 5, Initial: time.Minute, Max: 2 * time.Minute})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.ID("f")), 42)
		if !slices.Equal(attempts, []int{1, 2, 3, 4}) {
			t.Fatalf("attempts %v", attempts)
		}
		failed := payloads[event.EffectAttemptFailed](t, db, "f")
		log := logOf(t, db, "f")
		if len(failed) != 3 {
			t.Fatalf("%d recorded failures in %s", len(failed), kinds(log))
		}
		for i, p := range failed {
			at := log[2+i].Time
			most := min(time.Minute<<i, 2*time.Minute)
			wait := p.NotBefore.Sub(at)
			if p.Attempt != i+1 || p.Error.Message != fmt.Sprintf("attempt %d", i+1) || wait < most/2-time.Millisecond || wait > most+time.Millisecond {
				t.Fatalf("failure %d: %+v, wait %v of at most %v", i+1, p, wait, most)
			}
			if next := log[3+i].Time; next < p.NotBefore {
				t.Fatalf("attempt %d was made %v too early", i+2, p.NotBefore.Sub(next))
			}
		}
	})
}

func TestRetryEndsWithTheLastError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("dead", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "dead", func(context.Context) (int, error) {
				return 0, fmt.Errorf("try %d: %w", calls.call("dead"), errDeclined)
			}, loom.Retry{Attempts: 3, Initial: time.Second})
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		err := fails(t, begin(t, flow, rt, 0))
		if err.Message != "try 3: loom: card_declined" || !errors.Is(err, errDeclined) || calls.count("") != 3 {
			t.Fatalf("%q after %d calls", err.Message, calls.count(""))
		}
	})
}

func TestPermanentEndsTheRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("final", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "final", func(context.Context) (int, error) {
				if calls.call("final") == 2 {
					return 0, fmt.Errorf("wrapped: %w", loom.Permanent(errDeclined))
				}
				return 0, errors.New("again")
			}, loom.Retry{Attempts: 10})
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		if err := fails(t, begin(t, flow, rt, 0)); !errors.Is(err, errDeclined) || calls.count("") != 2 {
			t.Fatalf("%v after %d calls", err, calls.count(""))
		}
		if loom.Permanent(nil) != nil {
			t.Fatal("Permanent(nil) is an error")
		}
	})
}

// A panic is an attempt like another; what it says is kept.
func TestRetryRepeatsAfterAPanic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("panics", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "panics", func(context.Context) (int, error) {
				if calls.call("p") == 1 {
					panic("first")
				}
				return 1, nil
			}, loom.Retry{Attempts: 2})
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0), 1)
	})
}

// Attempts and waits are in the log: a node that closes in the wait leaves the next
// attempt, its number and its time to the one that goes on.
func TestRetriesAndTheirWaitsSurviveARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		var attempts []int
		flow := loom.NewFlow("flaky", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "flaky", func(ctx context.Context) (int, error) {
				attempts = append(attempts, loom.Attempt(ctx))
				if calls.call("x") < 3 {
					return 0, errors.New("again")
				}
				return 7, nil
			}, loom.Retry{Attempts: 3, Initial: 10 * time.Minute})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("f"))
		for n := 1; n < 3; n++ {
			until(t, "a failed attempt", func() bool { return len(payloads[event.EffectAttemptFailed](t, db, "f")) == n })
			shut(t, rt)
			if h := headOf(t, db, "f"); h.Owner != "" || h.WakeAt != payloads[event.EffectAttemptFailed](t, db, "f")[n-1].NotBefore {
				t.Fatalf("after close: %+v", h)
			}
			rt = open(t, db, loom.Flows(flow))
		}
		yields(t, attach[int](t, rt, "f"), 7)
		if !slices.Equal(attempts, []int{1, 2, 3}) {
			t.Fatalf("attempts %v", attempts)
		}
		for i, p := range payloads[event.EffectAttemptFailed](t, db, "f") {
			if log := logOf(t, db, "f"); log[3+i].Time < p.NotBefore {
				t.Fatalf("attempt %d too early", i+2)
			}
		}
	})
}

// An attempt that a crash cut off is made again under the same number.
func TestACrashDoesNotUseUpAnAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := shutGate(t)
		var attempts []int
		flow := loom.NewFlow("cut", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "cut", func(ctx context.Context) (int, error) {
				attempts = append(attempts, loom.Attempt(ctx))
				hold.pass()
				if loom.Attempt(ctx) == 1 {
					return 0, errors.New("again")
				}
				return loom.Attempt(ctx), nil
			}, loom.Retry{Attempts: 2})
		})
		db := memstore.New(nil)
		first, way := tapped(t, db, loom.Flows(flow))
		begin(t, flow, first, 0, loom.ID("c"))
		until(t, "the effect is called", func() bool { return hold.waiting() == 1 })
		way.kill()
		second := open(t, db, loom.Flows(flow))
		until(t, "the effect is called again", func() bool { return hold.waiting() == 2 })
		hold.open()
		yields(t, attach[int](t, second, "c"), 2)
		if !slices.Equal(attempts, []int{1, 1, 2}) {
			t.Fatalf("attempts %v", attempts)
		}
	})
}

func TestTimeoutEndsAnAttemptsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("slow", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "slow", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, fmt.Errorf("gave up: %w", ctx.Err())
			}, loom.Timeout(time.Second))
			return fmt.Sprint(errors.Is(err, loom.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, loom.ErrCancelled)), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		began := time.Now()
		yields(t, begin(t, flow, rt, 0), "true true false")
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Fatalf("took %v", took)
		}
	})
}

func TestTimeoutIsPerAttemptAndRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("slow", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "slow", func(ctx context.Context) (int, error) {
				if calls.call("x") < 3 {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return 3, nil
			}, loom.Timeout(time.Second), loom.Retry{Attempts: 3})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.ID("s")), 3)
		for _, p := range payloads[event.EffectAttemptFailed](t, db, "s") {
			if p.Error.Code != event.CodeTimeout {
				t.Fatalf("%+v", p.Error)
			}
		}
	})
}

// An effect that does not heed its context is waited for, and its result counts.
func TestAResultAfterTheTimeoutCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("deaf", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "deaf", func(context.Context) (int, error) {
				<-time.After(time.Minute)
				return 9, nil
			}, loom.Timeout(time.Second))
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0), 9)
	})
}

// case 29: how long an effect takes has nothing to do with the lease.
func TestAnEffectMayTakeLongerThanManyLeases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("long", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "long", func(context.Context) (int, error) {
				calls.call("x")
				<-time.After(10 * time.Minute)
				return 1, nil
			})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		open(t, db, loom.Flows(flow)) // would take it over if it could
		run := begin(t, flow, rt, 0)
		synctest.Wait()
		yields(t, run, 1)
		if calls.count("") != 1 {
			t.Fatalf("%d calls", calls.count(""))
		}
	})
}
