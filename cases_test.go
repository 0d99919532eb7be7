package loom_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// case 15: two nodes may wake the same executions for the same messages; each message is
// received once, and each execution goes on once.
func TestTwoNodesReceiveEachMessageOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 20
		var calls service
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) {
			out := ""
			for range 3 {
				word, err := loom.Await[string](ctx, "word")
				if err != nil {
					return "", err
				}
				out += word
			}
			_, err := step(ctx, &calls, loom.ExecutionID(ctx))
			return out, err
		})
		db := memstore.New(nil)
		nodes := []*loom.Runtime{
			open(t, db, loom.Flows(flow), loom.Tuning{Unload: 100 * time.Millisecond}),
			open(t, db, loom.Flows(flow), loom.Tuning{Unload: 100 * time.Millisecond}),
		}
		client := open(t, db, loom.Tuning{ClientOnly: true})
		for i := range n {
			begin(t, flow, nodes[i%2], 0, loom.ID(fmt.Sprint("w", i)))
		}
		for _, word := range []string{"a", "b", "c"} {
			pass(t, time.Minute) // all are parked
			for i := range n {
				signal(t, client, fmt.Sprint("w", i), "word", word)
			}
		}
		for i := range n {
			id := fmt.Sprint("w", i)
			yields(t, attach[string](t, client, id), "abc")
			if calls.count(id) != 1 || len(payloads[event.MessageReceived](t, db, id)) != 3 {
				t.Fatalf("%s: %d calls", id, calls.count(id))
			}
		}
	})
}

// case 23: the store goes away in the middle of a sweep over what a dead node left. The
// sweep goes on when it is back, and nothing stays with the dead.
func TestASweepThatIsInterruptedGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 250
		var calls service
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) {
			if _, err := loom.Await[string](ctx, "word"); err != nil {
				return "", err
			}
			return step(ctx, &calls, loom.ExecutionID(ctx))
		})
		db := memstore.New(nil)
		first, dead := tapped(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Hour})
		for i := range n {
			begin(t, flow, first, 0, loom.ID(fmt.Sprint("w", i)))
		}
		synctest.Wait()
		dead.kill()
		second, way := tapped(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Hour})
		claims := atomic.Int64{}
		way.answering(func(c call) (store.Result, bool) {
			if c.req.Claim == nil {
				return store.Result{}, false
			}
			k := claims.Add(1)
			return store.Result{Outcome: store.Failed, Err: errDead}, k > 40 && k < 120
		})
		pass(t, time.Minute)
		owner := headOf(t, db, "w0").Owner
		for i := range n {
			id := fmt.Sprint("w", i)
			if h := headOf(t, db, id); h.Owner != owner {
				t.Fatalf("%s is owned by %q, others by %q", id, h.Owner, owner)
			}
			signal(t, second, id, "word", "x")
		}
		for i := range n {
			yields(t, attach[string](t, second, fmt.Sprint("w", i)), fmt.Sprint("w", i))
		}
		if calls.count("") != n {
			t.Fatalf("%d calls", calls.count(""))
		}
	})
}

// case 30: a body that keeps control for longer than many leases of its own node is
// entered once.
func TestABodyMayComputeLongerThanManyLeases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var entered counter
		flow := loom.NewFlow("computes", func(ctx loom.Context, _ int) (int, error) {
			entered.inc()
			<-time.After(10 * time.Minute)
			return 1, loom.Sleep(ctx, "nap", time.Second)
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Lease: 3 * time.Second})
		open(t, db, loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0), 1)
		entered.is(t, "body entered", 1)
	})
}

// case 58: a cancel and a message whose notice is lost are found by looking again.
func TestALostNoticeIsFoundByLookingAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) {
			word, err := loom.Await[string](ctx, "word")
			if err != nil {
				return "", err
			}
			return word, loom.Sleep(ctx, "nap", time.Hour)
		})
		db := memstore.New(nil)
		deaf := store.Of(db)
		deaf.Hints = nil
		rt := open(t, store.Opened(deaf), loom.Flows(flow), loom.Tuning{Unload: time.Hour, Lease: 15 * time.Second})
		run := begin(t, flow, rt, 0)
		synctest.Wait()
		client := open(t, store.Opened(deaf), loom.Tuning{ClientOnly: true})
		before := time.Now()
		signal(t, client, run.ID(), "word", "x")
		until(t, "the message", func() bool { return len(payloads[event.MessageReceived](t, db, run.ID())) == 1 })
		if err := client.Cancel(t.Context(), run.ID(), ""); err != nil {
			t.Fatal(err)
		}
		cancelled(t, run)
		if took := time.Since(before); took > 15*time.Second {
			t.Fatalf("found after %v", took)
		}
	})
}

// case 69: what is recorded is what was handed in, whatever the caller does with it next.
func TestWhatIsHandedInIsEncodedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		shared := map[string]int{"a": 1}
		flow := loom.NewFlow("map", func(ctx loom.Context, in map[string]int) (int, error) {
			got, err := loom.Do(ctx, "x", func(context.Context) (map[string]int, error) { return in, nil }, loom.Args(in))
			in["a"] = 3 // the result is a copy of its own
			return got["a"], err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, shared, loom.ID("m"))
		shared["a"] = 2
		yields(t, run, 1)
		if in := payloads[event.ExecutionStarted](t, db, "m")[0].Input; string(in) != `{"a":1}` {
			t.Fatalf("%s", in)
		}
	})
}

// claim B-47: starts that come while the winner is in its first effect supersede nobody,
// neither at once nor by the recovery passes after them.
func TestALateLoserSupersedesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		hold := shutGate(t)
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "charge", func(context.Context) (string, error) { calls.call("charge"); hold.pass(); return "paid", nil })
		})
		db := memstore.New(nil)
		a, b := open(t, db, loom.Flows(flow)), open(t, db, loom.Flows(flow))
		run := begin(t, flow, a, 0, loom.ID("order"))
		for range 20 {
			existing(t, flow, b, 0, "order")
			existing(t, flow, a, 0, "order")
			pass(t, 7*time.Second)
		}
		hold.open()
		yields(t, run, "paid")
		if calls.count("charge") != 1 || headOf(t, db, "order").Tip.Fence != 0 {
			t.Fatalf("%d charges, token %d", calls.count("charge"), headOf(t, db, "order").Tip.Fence)
		}
	})
}

// laptop is a machine that can be suspended: the wall clock jumps, the monotonic one, and
// with it every timer, stands still.
type laptop struct {
	*rt.Real
	jump *atomic.Int64
}

func (l *laptop) Wall() time.Time { return l.Real.Wall().Add(time.Duration(l.jump.Load())) }

// claim H-23: a machine is suspended for longer than its lease with an intent just
// acknowledged. When it wakes up its monotonic clock says that no time has passed; it
// still calls nothing before it has looked who owns the execution.
func TestASuspendedMachineLooksBeforeItCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, takenOver := range []bool{false, true} {
			var calls service
			var jump atomic.Int64
			flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
			db := memstore.New(&memstore.Options{Now: func() event.Time { return event.At(time.Now().Add(time.Duration(jump.Load()))) }})
			way := newTap(t, db)
			asleep := shutGate(t)
			way.onAnswer(func(c call, _ store.Result) {
				if c.req.Expect.Head == 0 {
					asleep.pass() // the answer waits in a buffer of the network's
				}
			})
			a, err := loom.Open(rt.With(context.Background(), &laptop{rt.NewReal(), &jump}), way, loom.Flows(flow))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { way.release(); _ = a.Close() })
			begin(t, flow, a, 0, loom.ID("order"))
			synctest.Wait()
			jump.Store(int64(20 * time.Second))
			if takenOver {
				h := headOf(t, db, "order")
				if _, err := db.Renew(t.Context(), "another", time.Hour, nil); err != nil {
					t.Fatal(err)
				}
				res, err := db.Commit(t.Context(), store.Request{Execution: "order", Nonce: store.Nonce{5}, Expect: h.Tip,
					Claim: &store.Claim{Owner: "another", When: store.Lapsed}})
				if err != nil || res[0].Outcome != store.Committed {
					t.Fatal(res, err)
				}
			}
			asleep.open()
			synctest.Wait()
			if calls.count("charge") != 0 {
				t.Fatalf("taken over %v: a call on a lease that is over", takenOver)
			}
			pass(t, time.Minute)
			if want := map[bool]int{false: 1, true: 0}[takenOver]; calls.count("charge") != want {
				t.Fatalf("taken over %v: %d calls", takenOver, calls.count("charge"))
			}
		}
	})
}
