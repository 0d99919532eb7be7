package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomwork/loom"
)

// w4 starts a few ids many times at once: each id runs once, every other start is
// refused.
func (l *lab) w4(ctx context.Context) error {
	var bodies, steps, refused atomic.Int64
	flow := loom.NewFlow("once", func(ctx loom.Context, n int) (int, error) {
		bodies.Add(1) // for the count, and only good while nothing is replayed
		return loom.Do(ctx, "step", func(context.Context) (int, error) { steps.Add(1); return n, nil })
	})
	s, err := l.open(ctx, "w4", loom.Flows(flow))
	if err != nil {
		return err
	}
	gate := make(chan struct{})
	errs := make([]error, l.size.starts)
	var wg sync.WaitGroup
	for i := range l.size.starts {
		wg.Go(func() {
			<-gate
			run, err := flow.Start(ctx, s.rt, i, loom.ID(fmt.Sprintf("once-%d", i%l.size.ids)))
			var exists *loom.ExecutionAlreadyExistsError
			switch {
			case errors.As(err, &exists):
				refused.Add(1)
			case err != nil:
				errs[i] = err
			default:
				_, errs[i] = run.Result(ctx)
			}
		})
	}
	began := time.Now()
	close(gate)
	wg.Wait()
	took := time.Since(began)
	if err := errors.Join(errors.Join(errs...), s.discard()); err != nil {
		return err
	}
	l.add("W4", "time", "s", took.Seconds())
	l.add("W4", "bodies", "bodies", float64(bodies.Load()))
	l.add("W4", "refusals", "refusals", float64(refused.Load()))
	want := int64(l.size.ids)
	if bodies.Load() != want || steps.Load() != want || refused.Load() != int64(l.size.starts)-want {
		l.sheet.wrongly("W4 on %s: %d starts of %d ids gave %d bodies, %d calls of the step and %d refusals",
			l.kind.name, l.size.starts, l.size.ids, bodies.Load(), steps.Load(), refused.Load())
	}
	return nil
}
