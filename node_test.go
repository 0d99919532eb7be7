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
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// Two nodes on one store: one id is one run, whoever starts it.
func TestTwoNodesShareOneID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
		db := memstore.New(nil)
		nodes := []*loom.Runtime{open(t, db, loom.Flows(flow)), open(t, db, loom.Flows(flow))}
		for i := range 30 {
			id := fmt.Sprint("order-", i)
			var wg sync.WaitGroup
			var started, refused counter
			for n := range 4 {
				wg.Go(func() {
					run, err := flow.Start(t.Context(), nodes[n%2], 1, loom.ID(id))
					var exists *loom.ExecutionAlreadyExistsError
					switch {
					case err == nil:
						started.inc()
					case errors.As(err, &exists) && string(exists.ID) == id && run == nil:
						refused.inc()
						run = attach[string](t, nodes[n%2], id)
					default:
						t.Errorf("%v", err)
						return
					}
					if v, err := run.Result(soon(t)); err != nil || v != "charge" {
						t.Errorf("%q, %v", v, err)
					}
				})
			}
			wg.Wait()
			started.is(t, "started", 1)
			refused.is(t, "refused", 3)
		}
		if calls.count("charge") != 30 {
			t.Fatalf("%d charges for 30 orders", calls.count("charge"))
		}
	})
}

// Messages and cancels cross from node to node.
func TestMessagesAndCancelsReachAnotherNodesRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("talks", func(ctx loom.Context, _ int) (string, error) {
			v, err := loom.Await[string](ctx, "word")
			if err != nil {
				return "", err
			}
			_, err = loom.Await[string](ctx, "never")
			return v + " " + fmt.Sprint(err == loom.ErrCancelled), nil
		})
		for _, unload := range []time.Duration{time.Hour, time.Second} {
			db := memstore.New(nil)
			a, b := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload}), open(t, db, loom.Tuning{ClientOnly: true})
			run := begin(t, flow, a, 0)
			pass(t, 10*time.Second)
			signal(t, b, run.ID(), "word", "over there")
			pass(t, 10*time.Second)
			if err := b.Cancel(t.Context(), run.ID(), ""); err != nil {
				t.Fatal(err)
			}
			yields(t, attach[string](t, b, run.ID()), "over there true")
		}
	})
}

// case 33a: a second process with the same configuration is another node. It leaves the
// work of the living one alone.
func TestASecondNodeLeavesTheWorkOfALivingOneAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		hold := shutGate(t)
		flow := loom.NewFlow("long", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "x", func(context.Context) (string, error) { calls.call("x"); hold.pass(); return "x", nil })
		})
		db := memstore.New(nil)
		first := open(t, db, loom.Flows(flow))
		run := begin(t, flow, first, 0)
		synctest.Wait()
		for range 3 {
			second := open(t, db, loom.Flows(flow))
			pass(t, time.Minute)
			shut(t, second)
		}
		hold.open()
		yields(t, run, "x")
		if calls.count("x") != 1 || headOf(t, db, run.ID()).Tip.Fence != 0 {
			t.Fatalf("%d calls, token %d", calls.count("x"), headOf(t, db, run.ID()).Tip.Fence)
		}
	})
}

// A flow that no node knows is left for one that does, with its mail and its cancels;
// until then it is listed as driven by nobody (case 26).
func TestAnUnknownFlowIsLeftForANodeThatKnowsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		known := loom.NewFlow("known", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "known") })
		other := loom.NewFlow("other", func(ctx loom.Context, _ int) (string, error) {
			v, err := loom.Await[string](ctx, "word", loom.Within(time.Second))
			return v, err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(known))
		run := begin(t, other, rt, 0, loom.ID("o"))
		if err := run.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		signal(t, rt, "o", "word", "kept")
		pass(t, time.Minute)
		if s, err := rt.Summary(t.Context(), "o"); err != nil || s.Owner != "" || s.Status != fold.Running || s.Events != 1 || s.Mail != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
		if headOf(t, db, "o").Tip.Fence != 0 {
			t.Fatal("a node without the flow took it over")
		}
		open(t, db, loom.Flows(other))
		yields(t, run, "kept")
	})
}

// A client drives nothing, holds no lease, and starts for others.
func TestAClientDrivesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("work", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "x") })
		db := memstore.New(nil)
		client := open(t, db, loom.Flows(flow), loom.Tuning{ClientOnly: true})
		minted, chosen := begin(t, flow, client, 0), begin(t, flow, client, 0, loom.ID("c"))
		pass(t, time.Minute)
		if nodes, _ := db.Nodes(t.Context()); len(nodes) != 0 || calls.count("") != 0 {
			t.Fatalf("%d leases, %d calls", len(nodes), calls.count(""))
		}
		_, err := flow.Start(t.Context(), client, 0, loom.ID("c"))
		var exists *loom.ExecutionAlreadyExistsError
		if !errors.As(err, &exists) {
			t.Fatal(err)
		}
		worker := open(t, db, loom.Flows(flow))
		yields(t, minted, "x")
		yields(t, chosen, "x")
		shut(t, worker)
	})
}

// A start on a client runs at once on a worker, whichever clock is ahead.
func TestAClientsStartRunsAtOnceWhateverItsClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, skew := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
			db := memstore.New(&memstore.Options{Now: skewed(skew)})
			flow := loom.NewFlow("nap", func(ctx loom.Context, _ int) (int, error) { return 1, loom.Sleep(ctx, "nap", time.Second) })
			worker := open(t, db, loom.Flows(flow))
			client := open(t, db, loom.Tuning{ClientOnly: true})
			before := time.Now()
			yields(t, begin(t, flow, client, 0), 1)
			if took := time.Since(before); took > 5*time.Second {
				t.Fatalf("skew %v: took %v", skew, took)
			}
			shut(t, client)
			shut(t, worker)
		}
	})
}

func TestOpenSaysWhatAStoreLacks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := store.Of(memstore.New(nil)).Withhold(store.PartInbox, "a guard keeps it")
		_, err := loom.Open(t.Context(), store.Opened(s))
		var missing *store.MissingError
		if !errors.As(err, &missing) || !errors.Is(err, errors.ErrUnsupported) || len(missing.Parts) != 1 || missing.Why[store.PartInbox] != "a guard keeps it" {
			t.Fatal(err)
		}
	})
}

func TestOpenRefusesOptionsThatCannotWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := loom.NewFlow("twin", func(loom.Context, int) (int, error) { return 0, nil })
		b := loom.NewFlow("twin", func(loom.Context, string) (int, error) { return 0, nil })
		for _, opts := range [][]loom.Option{
			{loom.Flows(a, b)}, {loom.Flows(a), loom.Flows(a)},
			{loom.Tuning{Lease: -1}}, {loom.Tuning{Unload: -time.Second}}, {loom.Tuning{MaxPayload: -1}},
		} {
			if _, err := loom.Open(t.Context(), memstore.New(nil), opts...); err == nil {
				t.Errorf("%v was taken", opts)
			}
		}
	})
}

// A node whose store cannot be reached at the start says so and leaves nothing behind.
func TestOpenFailsWithTheStoresError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		way := newTap(t, memstore.New(nil))
		way.kill()
		way.release()
		if _, err := loom.Open(t.Context(), way); !errors.Is(err, errDead) {
			t.Fatal(err)
		}
	})
}
