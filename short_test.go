package loom_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// slow answers all that holds the store's time long after the clock was read.
type slow struct {
	store.Log
	store.Index
	store.Leaser
	answers atomic.Int64
}

func (s *slow) late() {
	n := s.answers.Add(1) // each answer tells more of the clock than the one before
	<-time.After(max(200*time.Millisecond-time.Duration(n)*3*time.Millisecond, time.Millisecond))
}

func (s *slow) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	res, err := s.Log.Commit(ctx, reqs...)
	s.late()
	return res, err
}

func (s *slow) Runnable(ctx context.Context, d store.Demand) ([]store.Head, event.Time, event.Time, error) {
	heads, next, now, err := s.Index.Runnable(ctx, d)
	s.late()
	return heads, next, now, err
}

func (s *slow) Renew(ctx context.Context, n store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	l, err := s.Leaser.Renew(ctx, n, ttl, flows)
	s.late()
	return l, err
}

// No wait is shorter than was asked, however late the store's answers come: a deadline is
// set from the latest that the store's clock can show. Oracle O11.
func TestNoWaitIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ask = 50 * time.Millisecond
		flow := loom.NewFlow("short", func(ctx loom.Context, _ int) ([]time.Duration, error) {
			// The body looks at the clock itself, which a body may not: what a step says of
			// the time, it says after a commit.
			var waits []time.Duration
			for range 20 {
				from := time.Now()
				if err := loom.Sleep(ctx, "nap", ask); err != nil {
					return nil, err
				}
				mid := time.Now()
				if _, err := loom.Await[int](ctx, "nothing", loom.Within(ask)); err != loom.ErrTimeout {
					return nil, err
				}
				waits = append(waits, mid.Sub(from), time.Since(mid))
			}
			return waits, nil
		})
		s := store.Of(memstore.New(&memstore.Options{Now: func() event.Time { return event.At(time.Now()) }}))
		late := &slow{Log: s.Log, Index: s.Index, Leaser: s.Leaser}
		s.Log, s.Index, s.Leaser = late, late, late
		rt, err := loom.Open(t.Context(), store.Opened(s), loom.Flows(flow))
		if err != nil {
			t.Fatal(err)
		}
		run, err := flow.Start(t.Context(), rt, 0)
		if err != nil {
			t.Fatal(err)
		}
		waits, err := run.Result(t.Context())
		if err != nil || len(waits) != 40 {
			t.Fatal(waits, err)
		}
		for i, w := range waits {
			if w < ask {
				t.Errorf("wait %d took %v of %v", i, w, ask)
			}
		}
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
