package coalesce_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/memstore"
)

// far is a store that takes a while for each call and has a few connections, as one
// behind a network.
type far struct {
	store.Log
	conns chan struct{}
	takes time.Duration
}

func (f far) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	f.conns <- struct{}{}
	defer func() { <-f.conns }()
	<-time.After(f.takes)
	return f.Log.Commit(ctx, reqs...)
}

func near() store.Log { return memstore.New(nil) }

func distant() store.Log {
	return far{memstore.New(nil), make(chan struct{}, 10), time.Millisecond}
}

// BenchmarkCommit is many executions that each commit one event after the other, with
// their commits gathered, beside the rate without: over memory, where a call costs next
// to nothing, and over a store that takes a millisecond a call on ten connections; and
// with a linger of a millisecond over that.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct {
		name string
		o    coalesce.Options
		over func() store.Log
	}{
		{"near", coalesce.Options{}, near},
		{"far", coalesce.Options{}, distant},
		{"far, lingering", coalesce.Options{MaxLinger: time.Millisecond}, distant},
	} {
		for _, n := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				direct := commits(b, c.over(), n, b.N)
				s, err := store.Stack(store.Store{Log: c.over()}, coalesce.New(&c.o))
				if err != nil {
					b.Fatal(err)
				}
				rate := commits(b, s.Log, n, b.N)
				b.ReportMetric(rate, "rows/s")
				b.ReportMetric(rate/direct, "of-direct")
			})
		}
	}
}

// commits returns events a second of total commits by n executions.
func commits(b *testing.B, l store.Log, n, total int) float64 {
	b.Helper()
	tips := make([]store.Tip, n)
	var begin sync.WaitGroup
	for i := range tips {
		begin.Go(func() {
			res, err := l.Commit(background, birth(event.ExecutionID(fmt.Sprint("x", i))))
			if err != nil {
				b.Error(err)
				return
			}
			tips[i] = res[0].Tip
		})
	}
	begin.Wait()
	var left atomic.Int64
	left.Store(int64(total))
	b.ReportAllocs()
	b.ResetTimer()
	b.StartTimer() // an earlier measurement stopped it
	began := time.Now()
	var all sync.WaitGroup
	for i := range tips {
		all.Go(func() {
			id, tip := event.ExecutionID(fmt.Sprint("x", i)), tips[i]
			for left.Add(-1) >= 0 {
				res, err := l.Commit(background, next(id, tip))
				if err != nil || res[0].Outcome != store.Committed {
					b.Error(res, err)
					return
				}
				tip = res[0].Tip
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	b.StopTimer()
	return float64(total) / took.Seconds()
}
