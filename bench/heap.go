package main

import (
	"context"
	"path/filepath"
	"runtime"
	"time"

	"github.com/loomwork/loom"
)

// heap weighs what an execution that waits costs in memory: one that sleeps in memory,
// and one that was let go. Each is measured once, in a process of its own, because no
// chance is in it. On SQLite FULL and NORMAL are the same here, so only the first is
// weighed.
func (l *lab) heap(ctx context.Context) error {
	if l.run > 0 || l.kind.normal {
		return nil
	}
	n := l.size.waiting
	if !l.kind.memory {
		n = max(n/5, 1) // its own starts take the time, and what is weighed is the same
	}
	for _, state := range []struct {
		name   string
		parked bool
	}{{"sleeping in memory", false}, {"let go", true}} {
		said, err := l.spawn(ctx, childSpec{Does: "heap", Path: filepath.Join(l.dir, l.kind.name+"-heap.db"), Number: n, Parked: state.parked})
		if err != nil {
			return err
		}
		l.add("heap", state.name, "bytes/execution", said.Bytes)
		l.add("heap", state.name+", objects", "per execution", said.Objects)
		if err := remove(filepath.Join(l.dir, l.kind.name+"-heap.db")); err != nil {
			return err
		}
	}
	return nil
}

// weigh starts n executions that sleep for a day and returns what each costs: bytes of
// heap and stacks, and objects. The store is one in memory, or in a file, whose bytes on
// the disk do not count.
func weigh(ctx context.Context, k *kind, path string, n int, parked bool) (bytes, objects float64, err error) {
	flow := loom.NewFlow("sleeper", func(ctx loom.Context, i int) (int, error) {
		return i, loom.Sleep(ctx, "long", 24*time.Hour)
	})
	tune := loom.Tuning{Unload: 48 * time.Hour}
	if parked {
		tune.Unload = time.Second
	}
	rt, err := loom.Open(ctx, k.source(path), loom.Flows(flow), tune)
	if err != nil {
		return 0, 0, err
	}
	before := live()
	_, _, err = side(n, startsAtOnce, func(i int) error {
		run, err := flow.Start(ctx, rt, i)
		if err != nil {
			return err
		}
		return run.Durable(ctx)
	})
	if err != nil {
		return 0, 0, err
	}
	after := live()
	per := func(now, was uint64) float64 { return (float64(now) - float64(was)) / float64(n) }
	return per(after.bytes, before.bytes), per(after.objects, before.objects), nil
}

// usage is what lives in this process.
type usage struct{ bytes, objects uint64 }

func live() usage {
	var m runtime.MemStats
	for range 3 { // what a finalizer frees goes with the next collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return usage{m.HeapAlloc + m.StackInuse, m.HeapObjects}
}
