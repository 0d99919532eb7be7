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
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

func TestASecondCloseIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rt := open(t, memstore.New(nil))
		shut(t, rt)
		if err := rt.Close(); err != loom.ErrClosed {
			t.Fatal(err)
		}
	})
}

// case 56: closing in the middle of a wait is no cancel; the executions go on at once
// on another node.
func TestExecutionsGoOnAtOnceAfterAClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("mixed", func(ctx loom.Context, n int) (string, error) {
			if _, err := step(ctx, &calls, "a"); err != nil {
				return "", err
			}
			if n%2 == 0 {
				if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
					return "", err
				}
			} else if _, err := loom.Await[int](ctx, "word"); err != nil {
				return "", err
			}
			return step(ctx, &calls, "b")
		})
		db := memstore.New(nil)
		first := open(t, db, loom.Flows(flow))
		for i := range 10 {
			begin(t, flow, first, i, loom.ID(fmt.Sprint("m", i)))
		}
		synctest.Wait()
		shut(t, first)
		for i := range 10 {
			id := fmt.Sprint("m", i)
			if h := headOf(t, db, id); h.Owner != "" || h.State != store.StateRunning {
				t.Fatalf("%s is not let go: %+v", id, h)
			}
			if strings.Contains(kinds(logOf(t, db, id)), "CANCEL") {
				t.Fatal("a close was recorded as a cancel")
			}
		}
		if nodes, _ := db.Nodes(t.Context()); len(nodes) != 0 {
			t.Fatalf("leases left: %+v", nodes)
		}
		second := open(t, db, loom.Flows(flow))
		before := time.Now()
		for i := range 10 {
			if i%2 == 1 {
				signal(t, second, fmt.Sprint("m", i), "word", 1)
			}
			yields(t, attach[string](t, second, fmt.Sprint("m", i)), "b")
		}
		if took := time.Since(before); took > time.Minute+time.Second {
			t.Fatalf("took %v", took)
		}
		if calls.count("a") != 10 || calls.count("b") != 10 {
			t.Fatalf("%d and %d calls", calls.count("a"), calls.count("b"))
		}
	})
}

// What an effect returns while its node stops is recorded; an error of it is not.
func TestARunningEffectsResultIsRecordedAtCloseAndItsErrorIsNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("effect", func(ctx loom.Context, n int) (string, error) {
			return loom.Do(ctx, "x", func(ctx context.Context) (string, error) {
				if calls.call(fmt.Sprint(n)) == 1 {
					<-ctx.Done() // the node stops
					<-time.After(3 * time.Second)
					if n == 1 {
						return "", errDeclined
					}
				}
				return "done", nil
			}, loom.Retry{Attempts: 3})
		})
		db := memstore.New(nil)
		first := open(t, db, loom.Flows(flow))
		begin(t, flow, first, 0, loom.ID("e0"))
		begin(t, flow, first, 1, loom.ID("e1"))
		synctest.Wait()
		before := time.Now()
		shut(t, first)
		if took := time.Since(before); took < 3*time.Second || took > 4*time.Second {
			t.Fatalf("closed after %v", took)
		}
		if got := kinds(logOf(t, db, "e1")); got != "EXECUTION_STARTED EFFECT_SCHEDULED" {
			t.Fatalf("an error of a stopping node was recorded: %s", got)
		}
		second := open(t, db, loom.Flows(flow))
		yields(t, attach[string](t, second, "e0"), "done")
		yields(t, attach[string](t, second, "e1"), "done")
		if calls.count("0") != 1 || calls.count("1") != 2 {
			t.Fatalf("%d and %d calls", calls.count("0"), calls.count("1"))
		}
	})
}

// A result that cannot be written down was paid for: it settles its step also when the
// node stops.
func TestAnUnusableResultOfAStoppingNodeIsRecorded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("effect", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "x", func(ctx context.Context) (string, error) {
				calls.call("x")
				<-ctx.Done()
				return strings.Repeat("x", 2000), nil
			})
		})
		db := memstore.New(nil)
		first := open(t, db, loom.Flows(flow), loom.Tuning{MaxPayload: 1000})
		begin(t, flow, first, 0, loom.ID("e"))
		synctest.Wait()
		shut(t, first)
		second := open(t, db, loom.Flows(flow), loom.Tuning{MaxPayload: 1000})
		var large *loom.TooLargeError
		if err := fails(t, attach[string](t, second, "e")); !errors.As(err, &large) || calls.count("") != 1 {
			t.Fatalf("%v after %d calls", err, calls.count(""))
		}
	})
}

// An effect that does not heed its context is waited for as long as the grace.
func TestCloseWaitsForEffectsAsLongAsTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, alive := range []bool{true, false} { // the store, meanwhile
			hold := shutGate(t)
			flow := loom.NewFlow("deaf", func(ctx loom.Context, _ int) (int, error) {
				return loom.Do(ctx, "x", func(context.Context) (int, error) { hold.pass(); return 1, nil })
			})
			db := memstore.New(nil)
			rt, way := tapped(t, db, loom.Flows(flow), loom.Tuning{CloseGrace: 4 * time.Second, Lease: time.Second})
			begin(t, flow, rt, 0, loom.ID("d"))
			synctest.Wait()
			if !alive {
				way.kill()
				pass(t, 10*time.Second)
				way.release()
			}
			before := time.Now()
			if err := rt.Close(); (err == nil) != alive {
				t.Fatalf("store alive: %v; close: %v", alive, err)
			}
			if took := time.Since(before); took < 4*time.Second || took > 6*time.Second {
				t.Fatalf("store alive: %v; closed after %v", alive, took)
			}
			if h := headOf(t, db, "d"); alive && (h.Owner != "" || h.WakeAt > event.At(time.Now())) {
				t.Fatalf("not let go: %+v", h)
			}
			hold.open()
			synctest.Wait()
			if n := len(logOf(t, db, "d")); n != 2 {
				t.Fatal("a late result was recorded")
			}
		}
	})
}

func TestAClosedRuntimeStartsAndSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("q"))
		synctest.Wait()
		shut(t, rt)
		_, minted := flow.Start(t.Context(), rt, 0)
		_, chosen := flow.Start(t.Context(), rt, 0, loom.ID("new"))
		_, result := run.Result(t.Context())
		for what, err := range map[string]error{"minted": minted, "chosen": chosen, "Result": result,
			"Signal": rt.Signal(t.Context(), "q", "n", 1), "Cancel": run.Cancel(t.Context(), "")} {
			if !errors.Is(err, loom.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if ids := everything(t, db); len(ids) != 1 {
			t.Fatalf("%v", ids)
		}
	})
}

// The wait for a result ends with the runtime.
func TestCloseEndsTheWaitForAResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		for _, unload := range []time.Duration{time.Hour, time.Second} {
			rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload})
			run := begin(t, flow, rt, 0)
			got := make(chan error, 1)
			go func() { _, err := run.Result(context.Background()); got <- err }()
			pass(t, 10*time.Second)
			shut(t, rt)
			if err := <-got; !errors.Is(err, loom.ErrClosed) {
				t.Fatal(err)
			}
		}
	})
}

// A result that was there when the runtime closed can still be asked for.
func TestAResultOutlivesItsRuntime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(loom.Context, int) (int, error) { return 8, nil })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0)
		synctest.Wait()
		shut(t, rt)
		yields(t, run, 8)
	})
}

// closingStore closes what it opened.
type closingStore struct {
	*memstore.DB
	closed error
	times  counter
}

func (c *closingStore) OpenStore(ctx context.Context) (store.Store, func() error, error) {
	return store.Of(c.DB), func() error { c.times.inc(); return c.closed }, nil
}

func TestCloseClosesTheStoreOnceAndReportsItsError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		src := &closingStore{DB: memstore.New(nil), closed: errors.New("disk on fire")}
		rt, err := loom.Open(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		if err := rt.Close(); !errors.Is(err, src.closed) {
			t.Fatal(err)
		}
		_ = rt.Close()
		src.times.is(t, "the store was closed", 1)
	})
}
