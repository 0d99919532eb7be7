package loom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// grammar checks what the hooks heard of one execution (claim H-13, oracle O13): each
// sequence in order, durable after its event, gap-free; aborted once for what is lost,
// which is told of again if this node goes on with the execution.
func grammar(heard []string) error {
	event, durable := -1, -1
	for _, what := range heard {
		var seq int
		switch {
		case strings.HasPrefix(what, "event "):
			fmt.Sscanf(what, "event %d", &seq)
			if event >= 0 && seq != event+1 {
				return fmt.Errorf("%s after event %d", what, event)
			}
			event = seq
		case strings.HasPrefix(what, "durable "):
			fmt.Sscanf(what, "durable %d", &seq)
			if durable >= 0 && seq != durable+1 || seq > event {
				return fmt.Errorf("%s after durable %d, event %d", what, durable, event)
			}
			durable = seq
		case strings.HasPrefix(what, "aborted "):
			fmt.Sscanf(what, "aborted %d", &seq)
			if seq != durable+1 || seq > event {
				return fmt.Errorf("%s after durable %d, event %d", what, durable, event)
			}
			event = durable
		}
	}
	if event != durable {
		return fmt.Errorf("event %d was told of, durable %d is the last", event, durable)
	}
	return nil
}

// claim H-13, oracle O13: the hooks of undisturbed executions, with many at once.
func TestHooksKeepTheirOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		l := &ledger{db: db}
		chain, trip := chained(l), journey(l)
		heard := &hears{}
		rt := open(t, db, loom.Flows(chain, trip), heard.hooks(), loom.Tuning{Unload: 500 * time.Millisecond})
		var wg sync.WaitGroup
		var ids sync.Map
		for i := range 20 {
			wg.Go(func() {
				a := begin(t, chain, rt, 5)
				b := begin(t, trip, rt, 0, loom.ID(fmt.Sprint("trip", i)))
				signal(t, rt, b.ID(), "word", "hello")
				ids.Store(a.ID(), 0)
				ids.Store(b.ID(), 0)
				yields(t, a, 5)
				yields(t, b, journeysEnd)
			})
		}
		wg.Wait()
		pass(t, time.Second)
		ids.Range(func(id, _ any) bool {
			all := heard.all(id.(string))
			if err := grammar(all); err != nil {
				t.Errorf("%s: %v in %v", id, err, all)
			}
			if want := 2 * len(logOf(t, db, id.(string))); len(all) != want {
				t.Errorf("%s: heard %d, want %d", id, len(all), want)
			}
			return true
		})
	})
}

// claim H-13: what is replayed is not told again: each event once in the life of a node.
func TestAReplayIsNotToldAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) {
			for range 3 {
				if _, err := loom.Await[string](ctx, "word"); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		db := memstore.New(nil)
		heard := &hears{}
		rt := open(t, db, loom.Flows(flow), heard.hooks(), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		for range 3 {
			pass(t, time.Minute)
			signal(t, rt, run.ID(), "word", "")
		}
		yields(t, run, "done")
		pass(t, time.Second)
		all := heard.all(run.ID())
		if err := grammar(all); err != nil || len(all) != 2*len(logOf(t, db, run.ID())) {
			t.Fatalf("%v: %v", err, all)
		}
	})
}

// Hooks of one execution never overlap, also if it leaves memory and comes back while one
// of them is slow.
func TestHooksOfOneExecutionNeverOverlap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) {
			for range 3 {
				if _, err := loom.Await[string](ctx, "word"); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		heard := &hears{}
		h := heard.hooks()
		var inside atomic.Int64
		slow := h.OnEvent
		h.OnEvent = func(e event.Envelope) {
			if inside.Add(1) != 1 {
				t.Error("two calls at once")
			}
			<-time.After(3 * time.Second)
			inside.Add(-1)
			slow(e)
		}
		rt := open(t, memstore.New(nil), loom.Flows(flow), h, loom.Tuning{Unload: 100 * time.Millisecond})
		run := begin(t, flow, rt, 0)
		for range 3 {
			pass(t, 500*time.Millisecond)
			signal(t, rt, run.ID(), "word", "")
		}
		yields(t, run, "done")
		pass(t, time.Minute)
		if err := grammar(heard.all(run.ID())); err != nil || len(heard.seen(run.ID())) != 8 {
			t.Fatalf("%v: %v", err, heard.all(run.ID()))
		}
	})
}

// A hook runs outside of the execution and may use the runtime, on the same execution too.
func TestAHookMayCallBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		var rt *loom.Runtime
		var errs sync.Map
		rt = open(t, memstore.New(nil), loom.Flows(flow), loom.Hooks{OnDurable: func(e event.Envelope) {
			if e.Kind != event.KindMessageAwaited {
				return
			}
			id := string(e.Execution)
			_, err := rt.State(context.Background(), id)
			errs.Store("State", err)
			_, err = flow.Start(context.Background(), rt, 0)
			errs.Store("Start", err)
			errs.Store("Signal", rt.Signal(context.Background(), id, "word", "from a hook", loom.MessageID("h")))
		}})
		// every start begins another from its hook: only the first is looked at
		yields(t, begin(t, flow, rt, 0), "from a hook")
		errs.Range(func(what, err any) bool {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			return true
		})
	})
}

// A hook that is slow holds nobody up, and is detached from that execution after 5 s.
func TestASlowHookIsDetachedAndHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("steps", func(ctx loom.Context, n int) (int, error) {
			for range n {
				if err := loom.Sleep(ctx, "nap", 0); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		hold := shutGate(t)
		var calls counter
		warned := &warnings{}
		h := warned.hooks()
		h.OnEvent = func(e event.Envelope) {
			if e.Execution == "slow" {
				calls.inc()
				hold.pass()
			}
		}
		rt := open(t, memstore.New(nil), loom.Flows(flow), h)
		before := time.Now()
		yields(t, begin(t, flow, rt, 5, loom.ID("slow")), 5)
		if took := time.Since(before); took > time.Second {
			t.Fatalf("a slow hook held its execution up for %v", took)
		}
		pass(t, 4*time.Second)
		if len(warned.of("slow")) != 0 {
			t.Fatal("detached too early")
		}
		pass(t, 2*time.Second)
		if errs := warned.of("slow"); len(errs) != 1 {
			t.Fatalf("warnings: %v", errs)
		}
		hold.open()
		pass(t, time.Second)
		calls.is(t, "the slow hook was called", 1)
	})
}

// A hook that is behind by too many bytes is detached.
func TestAHookThatIsFarBehindIsDetached(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := strings.Repeat("x", 1<<20)
		flow := loom.NewFlow("large", func(ctx loom.Context, n int) (int, error) {
			for range n {
				if _, err := loom.Do(ctx, "x", func(context.Context) (string, error) { return text, nil }); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		hold := shutGate(t)
		warned := &warnings{}
		h := warned.hooks()
		h.OnEvent = func(event.Envelope) { hold.pass() }
		rt := open(t, memstore.New(nil), loom.Flows(flow), h)
		yields(t, begin(t, flow, rt, 6, loom.ID("x")), 6)
		if errs := warned.of("x"); len(errs) != 1 {
			t.Fatalf("warnings: %v", errs)
		}
		hold.open()
	})
}

// A hook that panics is detached; the node, the execution and other hooks go on.
func TestAHookThatPanicsIsDetached(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(_ loom.Context, n int) (int, error) { return n, nil })
		var calls counter
		warned := &warnings{}
		h := warned.hooks()
		h.OnEvent = func(event.Envelope) { calls.inc(); panic("hook") }
		warn := h.OnWarn
		h.OnWarn = func(id event.ExecutionID, err error) { warn(id, err); panic("and this one") }
		rt := open(t, memstore.New(nil), loom.Flows(flow), h)
		yields(t, begin(t, flow, rt, 1, loom.ID("a")), 1)
		yields(t, begin(t, flow, rt, 2, loom.ID("b")), 2)
		pass(t, time.Second)
		calls.is(t, "the hook was called", 2) // once for each execution
		if len(warned.of("a")) != 1 || len(warned.of("b")) != 1 {
			t.Fatalf("%v %v", warned.of("a"), warned.of("b"))
		}
	})
}

// claim B-42: OnEvent hears of an event before the store has it; if that never does,
// OnAborted says from where on.
func TestOnEventIsBeforeDurability(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("two", func(ctx loom.Context, _ int) (string, error) {
			if _, err := step(ctx, &calls, "a"); err != nil {
				return "", err
			}
			return step(ctx, &calls, "b")
		})
		heard := &hears{}
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow), heard.hooks())
		commits := shutGate(t)
		var fail atomic.Bool
		way.on(func(c call) {
			if c.op == "commit" && c.req.Expect.Head == 1 {
				commits.pass()
				fail.Store(true)
			}
		})
		way.answering(func(call) (store.Result, bool) {
			return store.Result{Outcome: store.Refused, Refusal: store.RefusedInvalid, Err: errDeclined}, fail.Load()
		})
		run := begin(t, flow, rt, 0, loom.ID("x"))
		pass(t, time.Second)
		if got := heard.all("x"); strings.Join(got, " ") != "event 0 durable 0 event 1 durable 1 event 2 event 3" {
			t.Fatal(got)
		}
		commits.open()
		var failed *loom.StorageWriteError
		if _, err := run.Result(soon(t)); !errors.As(err, &failed) {
			t.Fatal(err)
		}
		until(t, "OnAborted", func() bool { all := heard.all("x"); return all[len(all)-1] == "aborted 2" })
		if n := len(logOf(t, db, "x")); n != 2 || calls.count("b") != 0 {
			t.Fatalf("%d events, %d calls", n, calls.count("b"))
		}
	})
}
