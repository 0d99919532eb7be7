package main

import (
	"context"
	"errors"
	"time"

	"github.com/loomwork/loom"
)

// manySteps returns the flow of W2: so many steps, one after the other.
func manySteps(name string, opts ...loom.StepOption) *loom.Flow[int, int] {
	text := string(payload[1 : len(payload)-1])
	return loom.NewFlow(name, func(ctx loom.Context, n int) (int, error) {
		for range n {
			if _, err := loom.Do(ctx, "step", func(context.Context) (string, error) { return text, nil }, opts...); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
}

// w2 runs one execution of many steps, and one of many read-only steps.
func (l *lab) w2(ctx context.Context) error {
	steps := l.more(l.size.steps)
	rate, c, err := l.oneExecution(ctx, "w2", manySteps("steps"), steps)
	if err != nil {
		return err
	}
	l.add("W2", "steps", "steps/s", rate)
	l.ratio("W2", "steps to raw one-row commits", rate, rawOneRow)
	// Beyond one a step: 2 are allowed, the start's and one for the end.
	l.add("W2", "commits beyond one a step", "commits", float64(c.commits-int64(steps)))
	l.add("W2", "rows", "per step", float64(c.events)/float64(steps))
	if c.commits > int64(steps)+2 {
		l.sheet.wrongly("W2 on %s: %d steps took %d commits", l.kind.name, steps, c.commits)
	}
	settle()
	used, timed := processorTime()
	rate, c, err = l.oneExecution(ctx, "w2-ro", manySteps("readonly", loom.ReadOnly()), l.size.readOnly)
	if err != nil {
		return err
	}
	usedNow, _ := processorTime()
	l.add("W2", "read-only steps", "steps/s", rate)
	if timed {
		l.add("W2", "processor time, read-only", "µs/step", float64((usedNow-used).Microseconds())/float64(l.size.readOnly))
	}
	l.add("W2", "read-only steps a commit", "steps", float64(l.size.readOnly)/float64(c.commits))
	return nil
}

// oneExecution runs one execution of n steps and returns steps a second, and what was
// committed.
func (l *lab) oneExecution(ctx context.Context, work string, flow *loom.Flow[int, int], n int) (rate float64, c counts, err error) {
	s, err := l.open(ctx, work, loom.Flows(flow))
	if err != nil {
		return 0, counts{}, err
	}
	one := func(n int) (time.Duration, error) {
		began := time.Now()
		run, err := flow.Start(ctx, s.rt, n)
		if err == nil {
			_, err = run.Result(ctx)
		}
		return time.Since(began), err
	}
	if _, err := one(min(n, 20)); err != nil {
		return 0, counts{}, errors.Join(err, s.discard())
	}
	was := s.tally.now()
	took, err := one(n)
	if err != nil {
		return 0, counts{}, errors.Join(err, s.discard())
	}
	c = s.tally.since(was)
	return float64(n) / took.Seconds(), c, s.discard()
}
