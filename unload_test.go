package loom_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// A body that is let out of memory is unwound: deferred functions run, recover sees nil,
// and verbs that they call do nothing and say why.
func TestAnUnloadedBodysDeferredFunctionsRunAndTheirVerbsDoNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var said []string
		flow := loom.NewFlow("defers", func(ctx loom.Context, _ int) (string, error) {
			finished := false
			defer func() {
				if finished {
					return
				}
				recovered := recover()
				_, do := loom.Do(ctx, "x", func(context.Context) (int, error) { panic("called") })
				_, await := loom.Await[int](ctx, "m")
				_, get := loom.Go(ctx, "b", func(loom.Context) (int, error) { panic("run") }).Get(ctx)
				_ = loom.NewID(ctx)
				mu.Lock()
				defer mu.Unlock()
				said = append(said, fmt.Sprint(recovered, do == loom.ErrUnloading, loom.Sleep(ctx, "s", 0) == loom.ErrUnloading,
					await == loom.ErrUnloading, get == loom.ErrUnloading))
			}()
			inner := loom.Go(ctx, "inner", func(ctx loom.Context) (string, error) {
				defer func() {
					if r := recover(); r != nil {
						panic(r)
					}
				}()
				return loom.Await[string](ctx, "word")
			})
			v, err := inner.Get(ctx)
			finished = true
			return v, err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		pass(t, 5*time.Second)
		mu.Lock()
		if len(said) != 1 || said[0] != "<nil> true true true true" {
			t.Fatalf("%q", said)
		}
		mu.Unlock()
		before := len(logOf(t, db, run.ID()))
		if before != 2 {
			t.Fatalf("a deferred verb was recorded: %s", kinds(logOf(t, db, run.ID())))
		}
		if err := run.Signal(t.Context(), "word", "hello"); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "hello")
	})
}

// A deferred function that panics while its body is unwound hurts nobody.
func TestAPanicWhileUnwindingHurtsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("panics", func(ctx loom.Context, _ int) (string, error) {
			finished := false
			defer func() {
				if !finished {
					panic("while unwinding")
				}
			}()
			v, err := loom.Await[string](ctx, "word")
			finished = true
			return v, err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		pass(t, 5*time.Second)
		if err := run.Signal(t.Context(), "word", "alive"); err != nil {
			t.Fatal(err)
		}
		yields(t, run, "alive")
	})
}

// A body whose effect is in the air, or that was resumed a moment ago, stays in memory.
func TestABodyWithWorkInTheAirStaysInMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		hold := shutGate(t)
		flow := loom.NewFlow("busy", func(ctx loom.Context, _ int) (string, error) {
			bodies.inc()
			f := loom.Go(ctx, "b", func(ctx loom.Context) (int, error) {
				return loom.Do(ctx, "x", func(context.Context) (int, error) { hold.pass(); return 1, nil })
			})
			if _, err := loom.Await[string](ctx, "word"); err != nil {
				return "", err
			}
			_, err := f.Get(ctx)
			return "done", err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		pass(t, time.Minute)
		if err := run.Signal(t.Context(), "word", ""); err != nil {
			t.Fatal(err)
		}
		pass(t, time.Minute)
		bodies.is(t, "body entered", 1)
		hold.open()
		yields(t, run, "done")
	})
}

// A message that nobody awaits wakes a parked execution once, not again and again.
func TestAMessageThatNobodyAwaitsWakesAParkedExecutionOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) {
			bodies.inc()
			return loom.Await[string](ctx, "word")
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		pass(t, time.Minute)
		signal(t, rt, run.ID(), "other", 1)
		pass(t, 10*time.Minute)
		bodies.is(t, "body entered", 2)
		if h := headOf(t, db, run.ID()); h.Owner != "" || h.Mail != 1 || h.Seen != 1 {
			t.Fatalf("%+v", h)
		}
		signal(t, rt, run.ID(), "word", "x")
		yields(t, run, "x")
	})
}

// A body that computes for long is told of, once, with its stack; nothing else happens.
func TestABodyThatNeitherWaitsNorReturnsIsToldOf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := shutGate(t)
		flow := loom.NewFlow("stuck", func(loom.Context, int) (string, error) { hold.pass(); return "at last", nil })
		warned := &warnings{}
		rt := open(t, memstore.New(nil), loom.Flows(flow), warned.hooks())
		run := begin(t, flow, rt, 0, loom.ID("s"))
		pass(t, 9*time.Second)
		if len(warned.of("s")) != 0 {
			t.Fatal("told too early")
		}
		pass(t, time.Minute)
		var stuck *loom.StuckError
		if errs := warned.of("s"); len(errs) != 1 || !errors.As(errs[0], &stuck) || stuck.For < 10*time.Second {
			t.Fatalf("%v", errs)
		}
		hold.open()
		yields(t, run, "at last")
	})
}

// case 76: what an execution leaves when it ends, parks, fails or is cut off is nothing:
// the bubble fails if a goroutine stays.
func TestNothingIsLeftAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db, rt := fixtures(t)
		ctx, cancel := context.WithCancel(t.Context())
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			for range rt.Follow(ctx, "sleeping", 0) {
			}
		}()
		synctest.Wait()
		shut(t, rt)
		<-followed
		cancel()
		if nodes, err := db.Nodes(t.Context()); err != nil || len(nodes) != 0 {
			t.Fatalf("%v, %v", nodes, err)
		}
	})
}
