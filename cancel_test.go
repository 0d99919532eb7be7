package loom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// cancelled waits for the end of a cancelled execution.
func cancelled[Out any](t *testing.T, run *loom.Run[Out]) {
	t.Helper()
	if err := fails(t, run); err.Status != fold.Cancelled || !errors.Is(err, loom.ErrCancelled) {
		t.Fatalf("%+v", err)
	}
}

func TestCancelEndsASleepAndAnAwait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sleeper := loom.NewFlow("sleeper", func(ctx loom.Context, _ int) (int, error) { return 0, loom.Sleep(ctx, "nap", time.Hour) })
		waiter := loom.NewFlow("waiter", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "m", loom.Within(time.Hour)) })
		for _, flow := range []*loom.Flow[int, int]{sleeper, waiter} {
			for _, unload := range []time.Duration{2 * time.Hour, time.Second} { // in memory, and parked
				db := memstore.New(nil)
				rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload})
				run := begin(t, flow, rt, 0, loom.ID("c"))
				pass(t, 10*time.Second)
				before := time.Now()
				if err := run.Cancel(t.Context(), "enough"); err != nil {
					t.Fatal(err)
				}
				cancelled(t, run)
				if took := time.Since(before); took > 5*time.Second {
					t.Fatalf("%s gave way after %v", flow.Name(), took)
				}
				s := stateOf(t, db, "c")
				if s.Status != fold.Cancelled || s.Cancel.Reason != "enough" || s.Cancel.Cause != "asked" {
					t.Fatalf("%+v", s.Cancel)
				}
				shut(t, rt)
			}
		}
	})
}

// An open Do waits for its effect to settle, because what comes after must know the
// truth; verbs begun later are refused, unrecorded.
func TestCancelWaitsForARunningEffect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pays", func(ctx loom.Context, _ int) (string, error) {
			v, err := loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				<-time.After(5 * time.Second)
				return "charged after all", nil
			})
			_, later := loom.Do(ctx, "ship", func(context.Context) (int, error) { return 0, nil })
			slept := loom.Sleep(ctx, "nap", time.Hour)
			_, awaited := loom.Await[int](ctx, "m")
			return fmt.Sprint(v, " ", err, later == loom.ErrCancelled, slept == loom.ErrCancelled, awaited == loom.ErrCancelled), nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("p"))
		synctest.Wait()
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "charged after all <nil> true true true") // a body that completes anyway completes
		if got := kinds(logOf(t, db, "p")); got != "EXECUTION_STARTED EFFECT_SCHEDULED CANCEL_REQUESTED EFFECT_COMPLETED EXECUTION_COMPLETED" {
			t.Fatal(got)
		}
	})
}

func TestAnEffectThatGivesWayIsRecordedAsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pays", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "charge", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, fmt.Errorf("not charged: %w", ctx.Err())
			}, loom.Retry{Attempts: 10})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("p"))
		synctest.Wait()
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		cancelled(t, run)
		if f := payloads[event.EffectFailed](t, db, "p"); len(f) != 1 || f[0].Error.Code != event.CodeCancelled || !strings.HasPrefix(f[0].Error.Message, "not charged") {
			t.Fatalf("%+v", f)
		}
	})
}

// An error that has nothing to do with the cancel stays what it is.
func TestAnEffectsOwnErrorUnderCancelStaysItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("pays", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "charge", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, errDeclined })
			return seen(err, errDeclined, loom.ErrCancelled), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0)
		synctest.Wait()
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "loom: card_declined true false")
	})
}

// An effect that does not settle in the grace is recorded as unknown, and what it
// returns afterwards changes nothing (case 32).
func TestAnEffectThatDoesNotSettleIsUnknownAfterTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := shutGate(t)
		flow := loom.NewFlow("deaf", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "charge", func(context.Context) (int, error) { hold.pass(); return 1, nil })
			if !errors.Is(err, loom.ErrOutcomeUnknown) {
				return "", err
			}
			return "unknown", nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{CancelGrace: 3 * time.Second})
		run := begin(t, flow, rt, 0, loom.ID("d"))
		synctest.Wait()
		before := time.Now()
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "unknown")
		if took := time.Since(before); took < 3*time.Second || took > 4*time.Second {
			t.Fatalf("gave up after %v", took)
		}
		if f := payloads[event.EffectFailed](t, db, "d"); len(f) != 1 || f[0].Error.Code != event.CodeOutcomeUnknown {
			t.Fatalf("%+v", f)
		}
		before2 := len(logOf(t, db, "d"))
		hold.open()
		pass(t, time.Second)
		if n := len(logOf(t, db, "d")); n != before2 {
			t.Fatal("a late result was recorded")
		}
	})
}

func TestACancelledRetryIsNotTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("retries", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "x", func(context.Context) (int, error) { calls.call("x"); return 0, errDeclined },
				loom.Retry{Attempts: 5, Initial: time.Hour})
			return fmt.Sprint(errors.Is(err, loom.ErrCancelled)), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		pass(t, time.Minute)
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "true")
		if calls.count("") != 1 {
			t.Fatalf("%d calls", calls.count(""))
		}
	})
}

func TestASecondCancelChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := shutGate(t)
		flow := loom.NewFlow("two", func(ctx loom.Context, _ int) (int, error) {
			_, _ = loom.Do(ctx, "x", func(context.Context) (int, error) { hold.pass(); return 1, nil })
			return 0, loom.Sleep(ctx, "nap", time.Hour)
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("c"))
		synctest.Wait()
		for range 3 {
			if err := run.Cancel(t.Context(), "again"); err != nil {
				t.Fatal(err)
			}
			pass(t, time.Second)
		}
		hold.open()
		cancelled(t, run)
		if n := len(payloads[event.CancelRequested](t, db, "c")); n != 1 {
			t.Fatalf("%d recorded cancels", n)
		}
		if err := run.Cancel(t.Context(), "late"); !errors.Is(err, loom.ErrEnded) {
			t.Fatalf("a cancel of what has ended: %v", err)
		}
	})
}

// race 35: the node dies with a cancel recorded and an effect open. The successor
// does not call it again, and says that its outcome is unknown, not that it was
// cancelled: it may have happened.
func TestRace35AnOpenIntentIsNotCalledAgainAfterACancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, recorded := range []bool{true, false} { // before the node died, or while it was dead
			var calls service
			hold := shutGate(t)
			flow := loom.NewFlow("pays", func(ctx loom.Context, _ int) (string, error) {
				_, err := loom.Do(ctx, "charge", func(context.Context) (int, error) { calls.call("charge"); hold.pass(); return 1, nil })
				return fmt.Sprint(errors.Is(err, loom.ErrOutcomeUnknown)), nil
			})
			db := memstore.New(nil)
			first, way := tapped(t, db, loom.Flows(flow))
			begin(t, flow, first, 0, loom.ID("p"))
			until(t, "the effect is called", func() bool { return calls.count("charge") == 1 })
			client := open(t, db, loom.Tuning{ClientOnly: true})
			if !recorded {
				way.kill()
			}
			if err := client.Cancel(t.Context(), "p", "stop"); err != nil {
				t.Fatal(err)
			}
			if recorded {
				until(t, "the cancel is recorded", func() bool { return len(payloads[event.CancelRequested](t, db, "p")) == 1 })
				way.kill()
			}
			second := open(t, db, loom.Flows(flow))
			yields(t, attach[string](t, second, "p"), "true")
			if calls.count("charge") != 1 {
				t.Fatalf("cancel recorded before: %v; %d calls", recorded, calls.count("charge"))
			}
			hold.open()
		}
	})
}

// A cancel that comes before the first look of a node still lets the body clean up.
func TestACancelledDelayedStartDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("later", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "x") })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.Delay(time.Hour))
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		cancelled(t, run)
		if calls.count("") != 0 {
			t.Fatal("an effect of a cancelled execution was called")
		}
	})
}

func TestCancelReachesOpenBranches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("wide", func(ctx loom.Context, n int) (int, error) {
			var fs []*loom.Future[int]
			for range n {
				fs = append(fs, loom.Go(ctx, "b", func(ctx loom.Context) (int, error) { return 0, loom.Sleep(ctx, "s", time.Hour) }))
			}
			_, err := loom.All(ctx, fs...)
			return 0, err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 10)
		synctest.Wait()
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		cancelled(t, run)
	})
}

// A cancel of what wraps or hides the error: only a body that returns it is cancelled.
func TestABodyThatReturnsAnotherErrorAfterACancelHasFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("hides", func(ctx loom.Context, wrap bool) (int, error) {
			err := loom.Sleep(ctx, "nap", time.Hour)
			if wrap {
				return 0, fmt.Errorf("while napping: %w", err)
			}
			return 0, errDeclined
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		for _, wrap := range []bool{true, false} {
			run := begin(t, flow, rt, wrap)
			synctest.Wait()
			if err := run.Cancel(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if err := fails(t, run); (err.Status == fold.Cancelled) != wrap {
				t.Fatalf("wrapped %v: %+v", wrap, err)
			}
		}
	})
}
