package loom_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
)

// claim H-28: over a store that takes a second for each commit, 10,000 executions whose
// steps may run ahead of it gather what a process may hold, 64 MiB, and one result more
// each; not the mebibyte that each may hold. They all come to their end, and then one
// may run ahead again: nothing is held any more.
func TestAProcessHoldsWhatItMayOverASlowStore(t *testing.T) {
	const executions, looks, size = 10_000, 12, 4 << 10
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	bubble(t, func(t *testing.T) {
		var looked counter
		var text atomic.Value
		text.Store(strings.Repeat("x", size))
		flow := loom.NewFlow("looks", func(ctx loom.Context, n int) (int, error) {
			for range n {
				if _, err := loom.Do(ctx, "look", func(context.Context) (string, error) { looked.inc(); return text.Load().(string), nil }, loom.ReadOnly()); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		var slow atomic.Int64
		slow.Store(int64(time.Second))
		sleep := func(_ context.Context, d time.Duration) error { <-time.After(d); return nil }
		inj := fault.New(&fault.Options{Sleep: sleep, Plan: func(c *fault.Call) fault.Fault {
			if c.Op == fault.Commit {
				return fault.Fault{Act: fault.Slow, Delay: time.Duration(slow.Load())}
			}
			return fault.Fault{Act: fault.Pass}
		}})
		rt := faulty(t, memstore.New(nil), inj, loom.Flows(flow))
		var runs []*loom.Run[int]
		for range executions {
			runs = append(runs, begin(t, flow, rt, looks))
		}
		pass(t, time.Second/2) // nothing is durable yet
		const may = 64<<20/size + 2*executions
		if n := int(looked.Load()); n > may || n < executions {
			t.Errorf("%d results gathered while nothing is durable, %d may be", n, may)
		}
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		if grown := int64(now.HeapAlloc) - int64(before.HeapAlloc); grown > 600<<20 {
			t.Errorf("the heap has grown by %d MiB", grown>>20)
		} else {
			t.Logf("%d results gathered, the heap has grown by %d MiB", looked.Load(), grown>>20)
		}
		text.Store("") // what is still to come shows nothing by its size
		for _, run := range runs {
			yields(t, run, looks)
		}
		looked.is(t, "looked", executions*looks)
		slow.Store(int64(time.Hour))
		begin(t, flow, rt, looks)
		pass(t, time.Second)
		looked.is(t, "looked", executions*looks+looks)
	})
}
