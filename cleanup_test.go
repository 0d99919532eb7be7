package loom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// undone registers the undo of name.
func undone(ctx loom.Context, s *service, name string, opts ...loom.StepOption) error {
	return loom.Compensate(ctx, name, func(context.Context) error { s.call(name); return nil }, opts...)
}

// booking books three things; how says how it ends after the third.
func booking(s *service, how func(ctx loom.Context) error) *loom.Flow[int, string] {
	return loom.NewFlow("booking", func(ctx loom.Context, _ int) (string, error) {
		err := loom.Cleanup(ctx, "unlock", func(ctx loom.Context) error {
			_, err := step(ctx, s, "unlock")
			return err
		})
		if err != nil {
			return "", err
		}
		for _, what := range []string{"flight", "hotel", "car"} {
			if _, err := step(ctx, s, what); err != nil {
				return "", err
			}
			if err := undone(ctx, s, "un-"+what); err != nil {
				return "", err
			}
		}
		return "booked", how(ctx)
	})
}

func TestUndosRunInReverseWhenABodyFails(t *testing.T) {
	all := "flight hotel car un-car un-hotel un-flight unlock"
	for _, c := range []struct {
		name   string
		how    func(ctx loom.Context) error
		cancel bool
		status fold.Status
		code   loom.Code
		did    string
	}{
		{"a result", func(loom.Context) error { return nil }, false, fold.Completed, "", "flight hotel car unlock"},
		{"an error", func(loom.Context) error { return errors.New("no seats") }, false, fold.Failed, event.CodeError, all},
		{"a panic", func(loom.Context) error { panic("no seats") }, false, fold.Failed, event.CodePanic, all},
		{"a cancel", func(ctx loom.Context) error { return loom.Sleep(ctx, "nap", time.Hour) }, true, fold.Cancelled, loom.ErrCancelled, all},
		{"a cancel that the body ignores", func(ctx loom.Context) error { _ = loom.Sleep(ctx, "nap", time.Hour); return nil }, true,
			fold.Completed, "", "flight hotel car unlock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, db := &service{}, memstore.New(nil)
				rt := open(t, db, loom.Flows(booking(s, c.how)))
				run := begin(t, booking(s, c.how), rt, 0, loom.ID("b"))
				if c.cancel {
					pass(t, time.Second)
					if err := run.Cancel(t.Context(), "rain"); err != nil {
						t.Fatal(err)
					}
				}
				if c.status == fold.Completed {
					yields(t, run, "booked")
				} else if err := fails(t, run); err.Status != c.status || !errors.Is(err, c.code) || errors.Is(err, loom.ErrCleanup) {
					t.Fatalf("%+v", err)
				}
				if got := strings.Join(s.all(), " "); got != c.did {
					t.Fatal(got)
				}
			})
		})
	}
}

// Nothing that the cleanup does is reached by a cancel: not the one that ended the body,
// and not one that comes while it runs. It sleeps, awaits and forks like the body.
func TestACancelDoesNotReachTheCleanup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
			err := loom.Cleanup(ctx, "all", func(ctx loom.Context) error {
				slept := loom.Go(ctx, "slept", func(ctx loom.Context) (int, error) { return 0, loom.Sleep(ctx, "nap", time.Hour) })
				if _, err := slept.Get(ctx); err != nil {
					return err
				}
				word, err := loom.Await[string](ctx, "word")
				if err != nil {
					return err
				}
				_, err = step(ctx, s, word)
				return err
			})
			if err != nil {
				return 0, err
			}
			return 0, loom.Sleep(ctx, "nap", 30*24*time.Hour)
		})
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("c"))
		pass(t, time.Second)
		for range 3 {
			if err := run.Cancel(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			pass(t, time.Minute)
		}
		if st := stateOf(t, db, "c"); st.Op("loom.final#1/slept#1/nap#1").Status != fold.OpOpen || st.Op("nap#1").Status != fold.OpCancelled {
			t.Fatalf("%+v", st.Ops)
		}
		pass(t, 2*time.Hour)
		signal(t, rt, "c", "word", "swept")
		cancelled(t, run)
		if got := strings.Join(s.all(), " "); got != "swept" {
			t.Fatal(got)
		}
	})
}

// An open step settles before anything is undone, and every branch has ended by then.
// race 35: what the undo sees is the truth about the charge.
func TestNothingIsUndoneWhileAStepIsOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		charged := ""
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
			err := loom.Compensate(ctx, "refund", func(context.Context) error { s.call("refund of " + charged); return nil })
			if err != nil {
				return 0, err
			}
			loom.Go(ctx, "charging", func(ctx loom.Context) (int, error) {
				_, err := loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
					<-ctx.Done()
					<-time.After(5 * time.Second)
					s.call("charge")
					charged = "10"
					return "", nil
				})
				s.call(fmt.Sprint("seen ", err))
				return 0, err
			})
			return 0, loom.Sleep(ctx, "nap", time.Hour)
		})
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("c"))
		pass(t, time.Second)
		if err := run.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		cancelled(t, run)
		if got := strings.Join(s.all(), ", "); got != "charge, seen <nil>, refund of 10" {
			t.Fatal(got)
		}
	})
}

// One that fails, or panics, keeps no other from running, and the execution fails with
// the texts and codes of all.
func TestAnUndoThatFailsStopsNoOther(t *testing.T) {
	broke := loom.Code("card_closed")
	for _, c := range []struct {
		body error
		want string
	}{
		{nil, "sweep: loom: panic: broom lost"},
		{errors.New("no seats"), "no seats"},
		{loom.ErrCancelled, "loom: cancelled"},
	} {
		bubble(t, func(t *testing.T) {
			s, db := &service{}, memstore.New(nil)
			flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
				tries := 0
				return 0, errors.Join(undone(ctx, s, "first"),
					loom.Compensate(ctx, "second", func(context.Context) error {
						s.call("second")
						tries++
						return fmt.Errorf("card: %w", broke)
					}, loom.Retry{Attempts: 3, Initial: time.Minute}),
					loom.Cleanup(ctx, "sweep", func(loom.Context) error { panic("broom lost") }),
					undone(ctx, s, "third"), c.body)
			})
			rt := open(t, db, loom.Flows(flow))
			err := fails(t, begin(t, flow, rt, 0))
			if err.Status != fold.Failed || !errors.Is(err, loom.ErrCleanup) || !strings.HasPrefix(err.Message, c.want) {
				t.Fatalf("%+v", err)
			}
			want := ""
			if c.body != nil {
				want = "third second second second first"
				if !strings.Contains(err.Message, "\nsweep: loom: panic: broom lost") || !strings.HasSuffix(err.Message, "card: loom: card_closed") || !errors.Is(err, broke) || !errors.Is(err, loom.Code(event.CodePanic)) || errors.Is(c.body, loom.ErrCancelled) != errors.Is(err, loom.ErrCancelled) {
					t.Fatalf("%+v", err)
				}
			}
			if got := strings.Join(s.all(), " "); got != want {
				t.Fatalf("%q, want %q", got, want)
			}
		})
	}
}

// What cannot be registered is an error and does not run.
func TestBadCleanupsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
			nop := func(context.Context) error { s.call("x"); return nil }
			var name *loom.NameError
			var bad *loom.InputValidationError
			var foreign *loom.ForeignGoroutineError
			for _, err := range []error{loom.Compensate(ctx, "loom.x", nop), loom.Cleanup(ctx, "", nil)} {
				if !errors.As(err, &name) {
					t.Errorf("%v", err)
				}
			}
			for _, err := range []error{loom.Compensate(ctx, "x", nop, loom.Args(make(chan int))),
				loom.Compensate(ctx, "x", nop, loom.AtMostOnce(), loom.Retry{Attempts: 2})} {
				if !errors.As(err, &bad) {
					t.Errorf("%v", err)
				}
			}
			other := make(chan error)
			go func() { other <- loom.Compensate(ctx, "x", nop) }()
			if err := <-other; !errors.As(err, &foreign) {
				t.Errorf("%v", err)
			}
			return 0, errors.New("fails")
		})
		rt := open(t, db, loom.Flows(flow))
		if err := fails(t, begin(t, flow, rt, 0)); errors.Is(err, loom.ErrCleanup) || len(s.all()) > 0 {
			t.Fatalf("%v, %v", err, s.all())
		}
	})
}

// One that is registered while the cleanup runs is run next.
func TestACleanupMayLeaveMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
			return 1, errors.Join(undone(ctx, s, "never"), loom.Cleanup(ctx, "last", func(loom.Context) error { s.call("last"); return nil }),
				loom.Cleanup(ctx, "first", func(ctx loom.Context) error {
					return errors.Join(loom.Cleanup(ctx, "next", func(loom.Context) error { s.call("next"); return nil }), undone(ctx, s, "nor-this"))
				}))
		})
		rt := open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0), 1)
		if got := strings.Join(s.all(), " "); got != "next last" {
			t.Fatal(got)
		}
	})
}

// The node dies at each of its commits; another finishes what was left to undo. No undo
// whose result is recorded runs again, and the order holds.
func TestUndoingGoesOnAfterACrashAtEachCommit(t *testing.T) {
	for k := 1; ; k++ {
		reached := false
		bubble(t, func(t *testing.T) {
			s, db := &service{}, memstore.New(nil)
			flow := booking(s, func(ctx loom.Context) error { return loom.Sleep(ctx, "nap", 10*time.Second) })
			first, way := tapped(t, db, loom.Flows(flow))
			var n atomic.Int64
			way.onAnswer(func(call, store.Result) {
				if n.Add(1) == int64(k) {
					reached = true
					way.kill()
				}
				_ = way.alive()
			})
			started := make(chan error, 1)
			go func() {
				_, err := flow.Start(context.Background(), first, 0, loom.ID("b"))
				started <- err
			}()
			client := open(t, db, loom.Tuning{ClientOnly: true})
			pass(t, time.Second)
			if err := client.Cancel(t.Context(), "b", ""); err != nil {
				t.Fatal(err)
			}
			pass(t, 5*time.Second)
			second := open(t, db, loom.Flows(flow))
			if err := fails(t, attach[string](t, second, "b")); !errors.Is(err, loom.ErrCancelled) && !errors.Is(err, loom.ErrOutcomeUnknown) {
				t.Fatal(err)
			}
			did := s.all()
			var order []string
			for _, what := range did { // a call that the crash cut off is made again, right after
				if len(order) == 0 || order[len(order)-1] != what {
					order = append(order, what)
				}
			}
			if slices.Contains(order, "car") && strings.Join(order, " ") != "flight hotel car un-car un-hotel un-flight unlock" || len(did) > len(order)+1 {
				t.Fatalf("k=%d: %v", k, did)
			}
			way.release()
			<-started
		})
		if !reached {
			if k < 9 {
				t.Fatalf("only %d commits were met", k-1)
			}
			return
		}
	}
}

// Closing a node is no end of the body: nothing is undone.
func TestClosingANodeUndoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := booking(s, func(ctx loom.Context) error { return loom.Sleep(ctx, "nap", time.Hour) })
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("b"))
		pass(t, time.Second)
		shut(t, rt)
		synctest.Wait()
		if got := strings.Join(s.all(), " "); got != "flight hotel car" {
			t.Fatal(got)
		}
		yields(t, attach[string](t, open(t, db, loom.Flows(flow)), "b"), "booked")
	})
}
