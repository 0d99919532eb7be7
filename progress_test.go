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

// upload sends ten chunks and records each; hold is called before the n-th is sent.
func upload(s *service, hold func(chunk int), opts ...loom.StepOption) *loom.Flow[int, int] {
	return loom.NewFlow("upload", func(ctx loom.Context, _ int) (int, error) {
		return loom.Do(ctx, "send", func(ctx context.Context) (int, error) {
			at, _, err := loom.LastProgress[int](ctx)
			if err != nil {
				return 0, err
			}
			for at < 10 {
				at++
				hold(at)
				s.call("chunk")
				if err := loom.Progress(ctx, at); err != nil {
					return 0, err
				}
				if now, ok, err := loom.LastProgress[int](ctx); now != at || !ok || err != nil {
					return 0, errors.New("another progress than recorded")
				}
			}
			return at, nil
		}, opts...)
	})
}

// What Progress has returned for is there for the next attempt, on another node too: a
// crash costs the chunk that was on its way.
func TestTheNextAttemptGoesOnFromTheProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		dead := shutGate(t)
		first := true
		flow := upload(s, func(chunk int) {
			if first && chunk == 7 {
				first = false
				dead.pass()
			}
		})
		rt, way := tapped(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("u"))
		until(t, "chunk 7 is being sent", func() bool { return dead.waiting() == 1 })
		if st := stateOf(t, db, "u"); string(st.Op("send#1").Progress) != "6" || st.Op("send#1").Attempts != 0 {
			t.Fatalf("%+v", st.Op("send#1"))
		}
		way.kill()
		second := open(t, db, loom.Flows(flow))
		yields(t, attach[int](t, second, "u"), 10)
		if s.count("chunk") != 10 { // the dead node's seventh is still held
			t.Fatalf("%d chunks", s.count("chunk"))
		}
		dead.open()
		way.release()
	})
}

func TestProgressOutlivesAFailedAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "send", func(ctx context.Context) (string, error) {
				at, ok, err := loom.LastProgress[string](ctx)
				if err != nil || ok != (loom.Attempt(ctx) > 1) {
					return "", loom.Permanent(errors.New("wrong progress"))
				}
				s.call(at)
				return at, errors.Join(loom.Progress(ctx, at+"x"), map[bool]error{true: errors.New("again")}[len(at) < 3])
			}, loom.Retry{Attempts: 5, Initial: time.Hour})
		})
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second}) // parked between attempts
		yields(t, begin(t, flow, rt, 0, loom.ID("u")), "xxx")
		if got := kinds(logOf(t, db, "u")); strings.Count(got, "EFFECT_PROGRESSED") != 4 {
			t.Fatal(got)
		}
	})
}

func TestProgressThatCannotBeRecordedIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		if err := loom.Progress(t.Context(), 1); !errors.Is(err, loom.ErrNotEffect) {
			t.Error(err)
		}
		if _, _, err := loom.LastProgress[int](t.Context()); !errors.Is(err, loom.ErrNotEffect) {
			t.Error(err)
		}
		var bad *loom.InputValidationError
		var large *loom.TooLargeError
		var late error
		leave := shutGate(t)
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "read", func(ctx context.Context) (int, error) {
				if err := loom.Progress(ctx, 1); !errors.As(err, &bad) {
					t.Error(err)
				}
				return 0, nil
			}, loom.ReadOnly())
			if err != nil {
				return "", err
			}
			_, err = loom.Do(ctx, "write", func(ctx context.Context) (int, error) {
				if err := loom.Progress(ctx, make(chan int)); !errors.As(err, &bad) {
					t.Error(err)
				}
				if err := loom.Progress(ctx, strings.Repeat("x", 2000)); !errors.As(err, &large) {
					t.Error(err)
				}
				if err := loom.Progress(ctx, "fits"); err != nil {
					t.Error(err)
				}
				if _, _, err := loom.LastProgress[int](ctx); !errors.As(err, &bad) {
					t.Error(err)
				}
				<-ctx.Done()
				leave.pass()
				late = loom.Progress(context.WithoutCancel(ctx), 2)
				return 0, ctx.Err()
			})
			return "done", map[bool]error{true: err}[!errors.Is(err, loom.ErrOutcomeUnknown)]
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{MaxPayload: 1000})
		run := begin(t, flow, rt, 0, loom.ID("u"))
		pass(t, time.Second)
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "done") // the step was given up after the grace
		leave.open()
		until(t, "the effect returns", func() bool { return late != nil })
		if !errors.Is(late, loom.ErrSettled) {
			t.Error(late)
		}
		if n := len(payloads[event.EffectProgressed](t, db, "u")); n != 1 {
			t.Fatalf("%d records", n)
		}
	})
}
