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
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// race 7, claim B-50, oracles O8 and O9: a node is paused in an effect for longer than its
// lease. Another one takes over. When the first wakes up it writes no event, calls no
// further effect, and its result of the old effect is dropped.
func TestRace7APausedNodeWritesNothingWhenItWakesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		l := &ledger{db: db}
		hold := shutGate(t)
		hold.open()
		flow := loom.NewFlow("two", func(ctx loom.Context, _ int) (string, error) {
			for i := range 2 {
				args := fmt.Sprint(i)
				if _, err := loom.Do(ctx, "act", func(ctx context.Context) (int, error) {
					l.call(ctx, args)
					hold.pass()
					return 1, nil
				}, loom.Args(args)); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		heard := &hears{}
		zombie, way := tapped(t, db, loom.Flows(flow), heard.hooks())
		hold.close()
		run := begin(t, flow, zombie, 0, loom.ID("x"))
		until(t, "the effect is called", func() bool { return hold.waiting() == 1 })
		way.kill()
		second := open(t, db, loom.Flows(flow))
		until(t, "a takeover and its call", func() bool { return hold.waiting() == 2 })
		hold.open() // both effects return
		yields(t, attach[string](t, second, "x"), "done")
		log := logOf(t, db, "x")
		way.thaw()
		yields(t, run, "done") // the zombie's own handle follows the store
		pass(t, time.Minute)
		if after := logOf(t, db, "x"); !slices.EqualFunc(after, log, event.Envelope.Equal) {
			t.Fatalf("the zombie wrote: %s", kinds(after))
		}
		l.check(t, "x", false)
		if n := l.calls["x/act#1"]; n != 2 {
			t.Fatalf("%d calls of the first step", n)
		}
		if n := l.calls["x/act#2"]; n != 1 {
			t.Fatalf("%d calls of the second step", n)
		}
		for _, e := range log[2:] {
			if m, _ := event.DecodeMeta(e.Meta); m["fence"] != "1" {
				t.Fatalf("%s was written under %q", e.ID(), m["fence"])
			}
		}
	})
}

// race 2: A's start lands and its reply is lost; A's lease lapses; B takes the execution
// over; A resends. The start was A's own: it gets a handle, and drives nothing.
func TestRace2AStartResolvedAfterATakeoverIsStillOnesOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
		db := memstore.New(nil)
		a, way := tapped(t, db, loom.Flows(flow))
		way.answering(func(c call) (store.Result, bool) {
			way.answering(nil)
			if _, err := db.Commit(context.Background(), *c.req); err != nil {
				t.Error(err)
			}
			way.kill() // the process is suspended with the answer on its way,
			_ = way.alive()
			return store.Result{Outcome: store.Unknown, Err: errDead}, true // and the connection breaks
		})
		type started struct {
			run *loom.Run[string]
			err error
		}
		got := make(chan started, 1)
		go func() {
			run, err := flow.Start(t.Context(), a, 0, loom.ID("order"))
			got <- started{run, err}
		}()
		synctest.Wait()
		b := open(t, db, loom.Flows(flow))
		yields(t, attach[string](t, b, "order"), "charge")
		way.thaw()
		s := <-got
		if s.err != nil {
			t.Fatalf("A's own start: %v", s.err)
		}
		yields(t, s.run, "charge")
		if calls.count("charge") != 1 {
			t.Fatalf("%d charges", calls.count("charge"))
		}
	})
}

// race 38: A's start has landed and its reply is on its way while A's own sweep looks at
// what it owns: A does not supersede itself.
func TestRace38ANodeDoesNotSupersedeItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow), loom.Tuning{Lease: 3 * time.Second})
		slow := true
		way.onAnswer(func(call, store.Result) {
			if slow {
				slow = false
				<-time.After(20 * time.Second) // many sweeps
			}
		})
		yields(t, begin(t, flow, rt, 0, loom.ID("order")), "charge")
		if h := headOf(t, db, "order"); h.Tip.Fence != 0 || calls.count("charge") != 1 {
			t.Fatalf("%+v, %d calls", h.Tip, calls.count("charge"))
		}
	})
}

// claim H-27: the caller gives up at each point of its start. In the end there is one body
// or none, and starting again tells which.
func TestAStartWhoseCallerGivesUpIsOneOrNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, landed := range []bool{true, false} {
			var calls service
			flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
			db := memstore.New(nil)
			rt, way := tapped(t, db, loom.Flows(flow))
			ctx, cancel := context.WithCancelCause(t.Context())
			way.answering(func(c call) (store.Result, bool) {
				way.answering(nil)
				if landed {
					if _, err := db.Commit(context.Background(), *c.req); err != nil {
						t.Error(err)
					}
				}
				cancel(errDeclined)
				return store.Result{Outcome: store.Unknown, Err: context.Canceled}, true
			})
			run, err := flow.Start(ctx, rt, 0, loom.ID("order"))
			var failed *loom.StorageWriteError
			if run != nil || !errors.As(err, &failed) || failed.Definite || failed.ID != "order" || !errors.Is(err, errDeclined) {
				t.Fatalf("landed %v: %v", landed, err)
			}
			_, err = flow.Start(t.Context(), rt, 0, loom.ID("order"))
			var exists *loom.ExecutionAlreadyExistsError
			if errors.As(err, &exists) != landed {
				t.Fatalf("landed %v, again: %v", landed, err)
			}
			yields(t, attach[string](t, rt, "order"), "charge")
			if calls.count("charge") != 1 {
				t.Fatalf("landed %v: %d charges", landed, calls.count("charge"))
			}
		}
	})
}
