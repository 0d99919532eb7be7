package main

import (
	"context"
	"errors"
	"time"

	"github.com/loomwork/loom"
)

// signal measures the time from the call of Signal to the body that goes on, on one node,
// for one waiting execution after the other: nothing else is under way.
func (l *lab) signal(ctx context.Context) error {
	n := l.size.signals
	woke := make(chan time.Time, 1)
	flow := loom.NewFlow("waiter", func(ctx loom.Context, _ int) (int, error) {
		v, err := loom.Await[int](ctx, "go")
		//loom:allow the body only tells when it goes on
		//loom:allow it is measured, and not replayed here
		woke <- time.Now()
		return v, err
	})
	s, err := l.open(ctx, "signal", loom.Flows(flow))
	if err != nil {
		return err
	}
	// The starts are awaited, so that what they write is out of the way.
	runs := make([]*loom.Run[int], n)
	_, _, err = side(n, startsAtOnce, func(i int) (err error) {
		if runs[i], err = flow.Start(ctx, s.rt, i); err != nil {
			return err
		}
		return runs[i].Durable(ctx)
	})
	took := make([]time.Duration, 0, n)
	answered := make([]time.Duration, 0, n)
	for _, run := range runs {
		if err != nil {
			break
		}
		began := time.Now()
		err = run.Signal(ctx, "go", 1)
		answered = append(answered, time.Since(began))
		if err == nil {
			took = append(took, (<-woke).Sub(began))
			_, err = run.Result(ctx)
		}
	}
	if err != nil {
		return errors.Join(err, s.discard())
	}
	p50 := ms(percentile(took, 50))
	l.add("signal", "to woken body, p50", "ms", p50)
	l.add("signal", "to woken body, p99", "ms", ms(percentile(took, 99)))
	l.add("signal", "durable, p50", "ms", ms(percentile(answered, 50)))
	if commit, ok := l.sheet.last(key{l.kind.name, "raw", rawCommit}); ok {
		l.add("signal", "p50 beyond one commit", "ms", p50-commit)
	}
	return s.discard()
}
