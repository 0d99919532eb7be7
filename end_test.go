package loom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// race 6: a message comes while the end is on its way. The store refuses the end, the
// message is looked at, and the end is sent again: nothing ends over mail that nobody saw.
func TestRace6AnEndLooksAtMailFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(_ loom.Context, n int) (int, error) { return n, nil })
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		client := open(t, db, loom.Tuning{ClientOnly: true})
		ends := shutGate(t)
		var sent counter
		way.on(func(c call) {
			if c.op == "commit" && c.req.State.Terminal() {
				sent.inc()
				ends.pass()
			}
		})
		run := begin(t, flow, rt, 3, loom.ID("x"))
		until(t, "the end is on its way", func() bool { return ends.waiting() == 1 })
		signal(t, client, "x", "late", 1)
		signal(t, client, "x", "late", 2)
		ends.open()
		yields(t, run, 3)
		sent.is(t, "the end was sent", 2)
		if h := headOf(t, db, "x"); h.Mail != 2 || h.Seen != 2 || h.State != store.StateCompleted || h.Owner != "" {
			t.Fatalf("%+v", h)
		}
		if n := way.count("pending", "x"); n != 1 {
			t.Fatalf("%d looks into the inbox", n)
		}
		if err := client.Signal(t.Context(), "x", "later", 1); !errors.Is(err, loom.ErrEnded) {
			t.Fatal(err)
		}
	})
}

// A cancel that comes while an intent is on its way: the effect is not called, and what
// ends the body then is an end for the store as well.
func TestACancelBeforeTheCallEndsTheExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "charge", func(context.Context) (int, error) { calls.call("charge"); return 1, nil })
			return "", err
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		intents := shutGate(t)
		way.on(func(c call) {
			if c.op == "commit" && c.req.Expect.Head == 0 {
				intents.pass()
			}
		})
		run := begin(t, flow, rt, 0, loom.ID("x"))
		until(t, "the intent is on its way", func() bool { return intents.waiting() == 1 })
		if err := rt.Cancel(t.Context(), "x", ""); err != nil {
			t.Fatal(err)
		}
		intents.open()
		cancelled(t, run)
		for _, c := range way.commits("x") { // at no instant is there an end of the log alone
			if n := len(c.Events); n > 0 && strings.HasPrefix(string(c.Events[n-1].Kind), "EXECUTION_C") != c.State.Terminal() {
				t.Fatalf("%s with state %v", kinds(c.Events), c.State)
			}
		}
		if f := payloads[event.EffectFailed](t, db, "x"); len(f) != 1 || f[0].Error.Code != event.CodeCancelled || calls.count("") != 0 {
			t.Fatalf("%+v, %d calls", f, calls.count(""))
		}
		if s, err := rt.Summary(t.Context(), "x"); err != nil || s.Status != fold.Cancelled || s.Owner != "" {
			t.Fatalf("%+v, %v", s, err)
		}
	})
}

// While a read-only effect runs, commits are in flight beside the body. One that is
// refused ends the run all the same.
func TestARefusalBesideAReadOnlyEffectEndsTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		hold := shutGate(t)
		flow := loom.NewFlow("mixed", func(ctx loom.Context, _ int) (string, error) {
			look := loom.Go(ctx, "look", func(ctx loom.Context) (int, error) {
				return loom.Do(ctx, "look", func(context.Context) (int, error) { hold.pass(); return 1, nil }, loom.ReadOnly())
			})
			if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
				return "", err
			}
			if _, err := step(ctx, &calls, "act"); err != nil {
				return "", err
			}
			_, err := look.Get(ctx)
			return "done", err
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("x"))
		synctest.Wait()
		way.answering(func(call) (store.Result, bool) {
			return store.Result{Outcome: store.Refused, Refusal: store.RefusedInvalid, Err: errDeclined}, true
		})
		_, err := run.Result(soon(t))
		var failed *loom.StorageWriteError
		if !errors.As(err, &failed) || !errors.Is(err, errDeclined) || calls.count("act") != 0 {
			t.Fatalf("%v, %d calls", err, calls.count("act"))
		}
		way.answering(nil)
		hold.open()
		yields(t, run, "done")
		if calls.count("act") != 1 {
			t.Fatalf("%d calls", calls.count("act"))
		}
	})
}

// A body that returns while an effect's commit is in flight ends once that is answered.
func TestABodyThatEndsBesideACommitInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := shutGate(t)
		flow := loom.NewFlow("mixed", func(ctx loom.Context, _ int) (string, error) {
			look := loom.Go(ctx, "look", func(ctx loom.Context) (int, error) {
				return loom.Do(ctx, "look", func(context.Context) (int, error) { hold.pass(); return 1, nil }, loom.ReadOnly())
			})
			if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
				return "", err
			}
			_, err := look.Get(ctx)
			return "done", err
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		commits := shutGate(t)
		way.on(func(c call) {
			if c.op == "commit" && c.req.Expect.Head > 0 {
				commits.pass()
			}
		})
		run := begin(t, flow, rt, 0, loom.ID("x"), loom.Deadline(time.Now().Add(time.Hour)))
		pass(t, 3*time.Second)
		hold.open()
		pass(t, time.Second)
		commits.open()
		yields(t, run, "done")
		if s := stateOf(t, db, "x"); s.Status != fold.Completed || headOf(t, db, "x").State != store.StateCompleted {
			t.Fatalf("%+v", s)
		}
	})
}
