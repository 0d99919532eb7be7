package loom_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

func TestAFlowRunsItsStepsOnceAndReturns(t *testing.T) {
	var calls atomic.Int64
	flow := loom.NewFlow("sum", func(ctx loom.Context, n int) (int, error) {
		total := 0
		for i := range n {
			v, err := loom.Do(ctx, "add", func(context.Context) (int, error) {
				calls.Add(1)
				return i, nil
			})
			if err != nil {
				return 0, err
			}
			total += v
		}
		if err := loom.Sleep(ctx, "nap", 5*time.Millisecond); err != nil {
			return 0, err
		}
		return total, nil
	})
	rt := open(t, memstore.New(nil), loom.Flows(flow))
	for _, opts := range [][]loom.StartOption{nil, {loom.ID("chosen")}} {
		calls.Store(0)
		run, err := flow.Start(t.Context(), rt, 4, opts...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run.Result(t.Context())
		if err != nil || got != 6 || calls.Load() != 4 {
			t.Fatalf("got %d, %v after %d calls, want 6 after 4", got, err, calls.Load())
		}
	}
	_, err := flow.Start(t.Context(), rt, 4, loom.ID("chosen"))
	var exists *loom.ExecutionAlreadyExistsError
	if !errors.As(err, &exists) || !exists.SameRequest || calls.Load() != 4 {
		t.Fatalf("second start: %v, %d calls", err, calls.Load())
	}
}

// Many executions at once on two nodes, by the machine's own clock, with bodies that leave
// memory as often as they can.
func TestManyExecutionsAtOnce(t *testing.T) {
	const n = 150
	db := memstore.New(nil)
	l := &ledger{db: db}
	trip := journey(l)
	tuning := loom.Tuning{Unload: time.Millisecond}
	nodes := []*loom.Runtime{open(t, db, loom.Flows(trip), tuning), open(t, db, loom.Flows(trip), tuning)}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			id := fmt.Sprint("j", i)
			run, err := trip.Start(t.Context(), nodes[i%2], 0, loom.ID(id))
			if err == nil {
				err = nodes[(i+1)%2].Signal(t.Context(), id, "word", "hello")
			}
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := run.Result(t.Context()); err != nil || got != journeysEnd {
				t.Errorf("%s: %q, %v", id, got, err)
			}
		})
	}
	wg.Wait()
	for i := range n {
		l.check(t, fmt.Sprint("j", i), false)
	}
}
