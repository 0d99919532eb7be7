package loom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// cutOff runs a flow on a node that dies inside of its step "pay", and then on another
// one, and returns how it ended. cancel asks the execution to give way in between.
func cutOff(t *testing.T, flow *loom.Flow[int, string], inside *gate, cancel bool) (string, error) {
	t.Helper()
	db := memstore.New(nil)
	rt, way := tapped(t, db, loom.Flows(flow))
	begin(t, flow, rt, 0, loom.ID("x"))
	until(t, "the step is called", func() bool { return inside.waiting() == 1 })
	way.kill()
	inside.open()
	client := open(t, db, loom.Tuning{ClientOnly: true})
	if cancel {
		if err := client.Cancel(t.Context(), "x", ""); err != nil {
			t.Fatal(err)
		}
	}
	second := open(t, db, loom.Flows(flow))
	v, err := attach[string](t, second, "x").Result(soon(t))
	way.release()
	return v, err
}

// paying is a flow of one step with options.
func paying(s *service, inside *gate, opts ...loom.StepOption) *loom.Flow[int, string] {
	return loom.NewFlow("pays", func(ctx loom.Context, _ int) (string, error) {
		v, err := loom.Do(ctx, "pay", func(context.Context) (string, error) {
			if s.call("pay") == 1 {
				inside.pass()
			}
			return "paid", nil
		}, opts...)
		if errors.Is(err, loom.ErrOutcomeUnknown) {
			return "unknown", nil
		}
		return v, err
	})
}

func TestAStepAtMostOnceIsNotCalledAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &service{}
		inside := shutGate(t)
		v, err := cutOff(t, paying(s, inside, loom.AtMostOnce()), inside, false)
		if v != "unknown" || err != nil || s.count("pay") != 1 {
			t.Fatalf("%q, %v, %d calls", v, err, s.count("pay"))
		}
	})
	bubble(t, func(t *testing.T) { // and is called, like any other, where nothing dies
		s := &service{}
		inside := shutGate(t)
		inside.open()
		flow := paying(s, inside, loom.AtMostOnce())
		yields(t, begin(t, flow, open(t, memstore.New(nil), loom.Flows(flow)), 0), "paid")
	})
}

func TestVerifyAsksBeforeAnythingIsCalledAgain(t *testing.T) {
	answer := func(v string, verdict loom.Verdict, errs ...error) func(s *service) loom.StepOption {
		return func(s *service) loom.StepOption {
			return loom.Verify(func(ctx context.Context) (string, loom.Verdict, error) {
				n := s.call("ask")
				if loom.IdempotencyKey(ctx) == "" || loom.Attempt(ctx) != 1 {
					s.call("no key")
				}
				if n <= len(errs) {
					return "", loom.Unsure, errs[n-1]
				}
				return v, verdict, nil
			})
		}
	}
	down := errors.New("gateway down")
	for _, c := range []struct {
		name   string
		verify func(s *service) loom.StepOption
		cancel bool
		want   string
		calls  string
	}{
		{"done", answer("was paid", loom.Done), false, "was paid", "pay ask"},
		{"not done", answer("", loom.NotDone), false, "paid", "pay ask pay"},
		{"unsure", answer("", loom.Unsure), false, "unknown", "pay ask"},
		{"asked again", answer("was paid", loom.Done, down, down), false, "was paid", "pay ask ask ask"},
		{"given up", answer("was paid", loom.Done, loom.Permanent(down)), false, "unknown", "pay ask"},
		{"done, cancelled", answer("was paid", loom.Done), true, "was paid", "pay ask"},
		{"not done, cancelled", answer("", loom.NotDone), true, "cancelled", "pay ask"},
		{"unsure, cancelled", answer("", loom.Unsure), true, "unknown", "pay ask"},
		{"down, cancelled", answer("", loom.Done, down), true, "unknown", "pay ask"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &service{}
				inside := shutGate(t)
				v, err := cutOff(t, paying(s, inside, c.verify(s)), inside, c.cancel)
				if errors.Is(err, loom.ErrCancelled) {
					v, err = "cancelled", nil
				}
				if v != c.want || err != nil || strings.Join(s.all(), " ") != c.calls {
					t.Fatalf("%q, %v, %v", v, err, s.all())
				}
			})
		})
	}
}

// A question that does not return in time is given up like a step.
func TestAQuestionThatHangsIsGivenUpAfterACancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &service{}
		inside := shutGate(t)
		never := make(chan struct{})
		flow := paying(s, inside, loom.Verify(func(context.Context) (string, loom.Verdict, error) {
			s.call("ask")
			<-never
			return "", loom.Unsure, nil
		}))
		before := time.Now()
		v, err := cutOff(t, flow, inside, true)
		if v != "unknown" || err != nil || time.Since(before) > 5*time.Minute {
			t.Fatalf("%q, %v after %v", v, err, time.Since(before))
		}
		close(never)
	})
}

// Nobody is asked about a step that no earlier owner can have called.
func TestNothingIsAskedWhereNothingWasCutOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &service{}
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "pay", func(context.Context) (string, error) {
				if s.call("pay") < 3 {
					return "", errors.New("busy")
				}
				return "paid", nil
			}, loom.Retry{Attempts: 5, Initial: time.Hour}, loom.Verify(func(context.Context) (string, loom.Verdict, error) {
				s.call("ask")
				return "", loom.Unsure, nil
			}))
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("x"))
		pass(t, time.Minute)
		shut(t, rt) // between two attempts
		yields(t, attach[string](t, open(t, db, loom.Flows(flow)), "x"), "paid")
		if got := strings.Join(s.all(), " "); got != "pay pay pay" {
			t.Fatal(got)
		}
	})
}

func TestOptionsThatContradictEachOtherAreRefused(t *testing.T) {
	ask := loom.Verify(func(context.Context) (string, loom.Verdict, error) { return "", loom.Unsure, nil })
	other := loom.Verify(func(context.Context) (int, loom.Verdict, error) { return 0, loom.Unsure, nil })
	for _, opts := range [][]loom.StepOption{
		{loom.AtMostOnce(), loom.Retry{Attempts: 2}}, {loom.AtMostOnce(), loom.ReadOnly()},
		{loom.AtMostOnce(), ask}, {loom.ReadOnly(), ask}, {other},
	} {
		bubble(t, func(t *testing.T) {
			s := &service{}
			flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (string, error) {
				_, err := loom.Do(ctx, "pay", func(context.Context) (string, error) { s.call("pay"); return "", nil }, opts...)
				var bad *loom.InputValidationError
				if !errors.As(err, &bad) {
					return "", err
				}
				return "refused", nil
			})
			db := memstore.New(nil)
			yields(t, begin(t, flow, open(t, db, loom.Flows(flow)), 0, loom.ID("x")), "refused")
			if len(s.all()) > 0 || len(payloads[event.EffectScheduled](t, db, "x")) > 0 {
				t.Fatal("something was written or called")
			}
		})
	}
}
