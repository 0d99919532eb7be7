package loom_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// case 24: a node dies between two commits of a run. Until its lease is over that run is
// all that waits: others start and end on the next node without delay. Then it is driven
// to its end.
func TestADeadNodesRunHoldsNobodyElseUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		hold := shutGate(t)
		flow := loom.NewFlow("two", func(ctx loom.Context, _ int) (string, error) {
			if _, err := step(ctx, &calls, loom.ExecutionID(ctx)+".a"); err != nil {
				return "", err
			}
			return step(ctx, &calls, loom.ExecutionID(ctx)+".b")
		})
		db := memstore.New(nil)
		first, way := tapped(t, db, loom.Flows(flow))
		way.on(func(c call) {
			if c.op == "commit" && c.req.Expect.Head == 1 { // the first result and the second intent
				hold.pass()
			}
		})
		started := make(chan error, 1)
		go func() {
			_, err := flow.Start(context.Background(), first, 0, loom.ID("x"))
			started <- err
		}()
		until(t, "the dying commit", func() bool { return hold.waiting() == 1 })
		way.kill()
		hold.open()
		second := open(t, db, loom.Flows(flow))
		for i := range 10 {
			before := time.Now()
			id := fmt.Sprint("y", i)
			yields(t, begin(t, flow, second, 0, loom.ID(id)), id+".b")
			if took := time.Since(before); took != 0 {
				t.Fatalf("%s took %v", id, took)
			}
		}
		if h := headOf(t, db, "x"); h.State != store.StateRunning || h.Tip.Fence != 0 {
			t.Fatalf("before its lease is over: %+v", h)
		}
		yields(t, attach[string](t, second, "x"), "x.b")
		if a, b := calls.count("x.a"), calls.count("x.b"); a != 2 || b != 1 { // its first result was lost with the node
			t.Fatalf("%d and %d calls", a, b)
		}
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	})
}
