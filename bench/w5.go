package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// startsAtOnce is how many starts W5 and the heap have in flight.
const startsAtOnce = 512

// w5 lets many executions sleep at once, and looks how late they wake: the time at which
// the body goes on, less the deadline in its log.
func (l *lab) w5(ctx context.Context) error {
	n := l.size.sleepers
	woke := make([]event.Time, n) // by input; each by its own body, and read after its end
	flow := loom.NewFlow("sleeper", func(ctx loom.Context, i int) (int, error) {
		if err := loom.Sleep(ctx, "nap", l.size.sleep); err != nil {
			return 0, err
		}
		woke[i] = event.At(time.Now()) //loom:allow it is measured: not durable, and not replayed here
		return i, nil
	})
	s, err := l.open(ctx, "w5", loom.Flows(flow))
	if err != nil {
		return err
	}
	runs := make([]*loom.Run[int], n)
	// Each start is awaited, with the timer that goes with it, or what is measured is the
	// queue of ten thousand starts that come before the wake-ups.
	starting, _, err := side(n, startsAtOnce, func(i int) (err error) {
		if runs[i], err = flow.Start(ctx, s.rt, i); err != nil {
			return err
		}
		return runs[i].Durable(ctx)
	})
	for i := range runs {
		if err == nil {
			_, err = runs[i].Result(ctx)
		}
	}
	if err != nil {
		return errors.Join(err, s.discard())
	}
	late := make([]time.Duration, n)
	early := 0
	for i, run := range runs {
		due, err := deadline(ctx, s.rt, run.ID())
		if err != nil {
			return errors.Join(err, s.discard())
		}
		if late[i] = woke[i].Sub(due); late[i] < 0 {
			early++
		}
	}
	l.add("W5", "late, p50", "ms", ms(percentile(late, 50)))
	l.add("W5", "late, p99", "ms", ms(percentile(late, 99)))
	l.add("W5", "late, most", "ms", ms(percentile(late, 100)))
	l.add("W5", "early", "executions", float64(early))
	l.add("W5", "starting them", "s", starting.Seconds())
	if early > 0 {
		l.sheet.wrongly("W5 on %s: %d of %d executions woke early", l.kind.name, early, n)
	}
	return s.discard()
}

// deadline returns when the timer in an execution's log is due.
func deadline(ctx context.Context, rt *loom.Runtime, id string) (event.Time, error) {
	for e, err := range rt.Log(ctx, id, 0) {
		if err != nil {
			return 0, err
		}
		if e.Kind != event.KindTimerScheduled {
			continue
		}
		p, err := e.Decode()
		if err != nil {
			return 0, err
		}
		if t, ok := p.(event.TimerScheduled); ok {
			return t.Deadline, nil
		}
	}
	return 0, fmt.Errorf("execution %s recorded no timer", id)
}
