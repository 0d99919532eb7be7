package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomwork/loom"
)

// threeSteps returns the flow of W1: three steps that return 100 bytes each.
func threeSteps() *loom.Flow[int, string] {
	text := string(payload[1 : len(payload)-1])
	return loom.NewFlow("three", func(ctx loom.Context, _ int) (s string, err error) {
		for range 3 {
			if s, err = loom.Do(ctx, "step", func(context.Context) (string, error) { return text, nil }); err != nil {
				return "", err
			}
		}
		return s, nil
	})
}

// warmUp is how many executions run before the clock does.
const warmUp = 64

// w1 runs executions of three steps, so many at a time, and reads each result back.
func (l *lab) w1(ctx context.Context) error {
	for _, inFlight := range l.size.inFlight {
		settle()
		if err := l.w1Pass(ctx, inFlight); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) w1Pass(ctx context.Context, inFlight int) (err error) {
	work := fmt.Sprintf("W1, %d in flight", inFlight)
	flow := threeSteps()
	s, err := l.open(ctx, fmt.Sprintf("w1-%d", inFlight), loom.Flows(flow))
	if err != nil {
		return err
	}
	one := func(n int) error {
		run, err := flow.Start(ctx, s.rt, n)
		if err != nil {
			return err
		}
		got, err := run.Result(ctx)
		if err == nil && len(got) != 98 {
			err = fmt.Errorf("the result has %d bytes", len(got))
		}
		return err
	}
	if _, _, err := side(warmUp, inFlight, one); err != nil {
		return errors.Join(err, s.discard())
	}
	n := l.more(l.size.executions)
	was := s.tally.now()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, timed := processorTime()
	took, each, err := side(n, inFlight, one)
	usedNow, _ := processorTime()
	runtime.ReadMemStats(&after)
	if err != nil {
		return errors.Join(err, s.discard())
	}
	c := s.tally.since(was)
	per := func(v float64) float64 { return v / float64(n) }
	events := float64(c.events) / took.Seconds()
	l.add(work, "executions", "executions/s", float64(n)/took.Seconds())
	l.add(work, "events", "events/s", events)
	l.ratio(work, "events to raw batches of as many rows", events, rawBatch(inFlight))
	l.add(work, "p50", "ms", ms(percentile(each, 50)))
	l.add(work, "p99", "ms", ms(percentile(each, 99)))
	if timed {
		l.add(work, "processor time", "µs/execution", per(float64((usedNow - used).Microseconds())))
	}
	l.add(work, "commits", "per execution", per(float64(c.commits)))
	l.add(work, "events recorded", "per execution", per(float64(c.events)))
	l.add(work, "allocated objects", "per execution", per(float64(after.Mallocs-before.Mallocs)))
	l.add(work, "allocated bytes", "bytes/execution", per(float64(after.TotalAlloc-before.TotalAlloc)))
	if c.commits != int64(n)*4 {
		// A minted id rides with the first intent: N + 1.
		l.sheet.wrongly("%s on %s: %d executions of 3 steps took %d commits, not %d", work, l.kind.name, n, c.commits, n*4)
	}
	if err := s.close(); err != nil {
		return err
	}
	if info, err := os.Stat(s.path); err == nil {
		l.add(work, "stored bytes", "bytes/execution", float64(info.Size())/float64(n+warmUp))
	}
	return remove(s.path)
}

// side calls fn for 0 to n-1, at most inFlight of them at a time, and returns how long
// all took and each. It stops at the first error.
func side(n, inFlight int, fn func(int) error) (all time.Duration, each []time.Duration, err error) {
	each = make([]time.Duration, n)
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range min(inFlight, n) {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				start := time.Now()
				if err := fn(i); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				each[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	all = time.Since(began)
	if e := failed.Load(); e != nil {
		return all, nil, *e
	}
	return all, each, nil
}
