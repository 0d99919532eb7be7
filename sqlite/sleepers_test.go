package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// sleepersEnv says how many executions TestManySleepers lets sleep at once.
const sleepersEnv = "LOOM_SLEEPERS"

// manyHere is how many it does without being told. "make sleepers" is for a million.
const manyHere = 5_000

// wakesASecond is for how many wake-ups a second their deadlines are spread out: a node's
// pace with room to spare, so that what is late is not late because of a queue.
const wakesASecond = 2_000

// TestManySleepers lets many executions sleep on one file, counts what they cost in
// memory while nothing happens, and looks how each wakes: once, never early by the clock
// of the store, and how late. Lateness and memory are printed; they are no matter of
// right and wrong on a busy machine.
func TestManySleepers(t *testing.T) {
	n := manyHere
	if text := os.Getenv(sleepersEnv); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("%s=%q is no number of executions", sleepersEnv, text)
		}
	}
	lateness := make([]time.Duration, n)
	woken := make([]atomic.Int32, n)
	var early atomic.Int64
	flow := loom.NewFlow("sleeper", func(ctx loom.Context, in sleeper) (int, error) {
		if err := loom.SleepUntil(ctx, "nap", in.Until); err != nil {
			return 0, err
		}
		late := time.Since(in.Until) // measured: it is not replayed behind here
		if late < 0 {
			early.Add(1)
		}
		lateness[in.N] = late
		woken[in.N].Add(1)
		return in.N, nil
	})
	// As fast as the disk allows, and far enough off that nobody is due before all sleep.
	path := filepath.Join(t.TempDir(), "loom.db")
	rt, err := loom.Open(t.Context(), Open(path), loom.Flows(flow), loom.Tuning{Unload: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}()
	first := time.Now().Add(2*time.Second + time.Duration(n)*400*time.Microsecond)
	began := time.Now()
	startAll(t, n, func(i int) error {
		_, err := flow.Start(t.Context(), rt, sleeper{N: i, Until: first.Add(time.Duration(i) * time.Second / wakesASecond)}, loom.ID(fmt.Sprint("s", i)))
		return err
	})
	asleep := time.Now()
	if asleep.After(first) {
		t.Logf("this machine took %v to start them: the first were due before the last slept", asleep.Sub(began).Round(time.Second))
	}
	heap, resident := weigh()
	t.Logf("%d sleep after %v, %.0f a second; heap %d MiB, resident %d MiB", n, asleep.Sub(began).Round(time.Millisecond),
		float64(n)/asleep.Sub(began).Seconds(), heap>>20, resident>>20)
	end := first.Add(time.Duration(n)*time.Second/wakesASecond + 5*time.Minute)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	for i := n - 1; i >= 0; i-- { // the last first: then few are waited for one after the other
		run, err := loom.Attach[int](rt, fmt.Sprint("s", i))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run.Result(ctx); got != i || err != nil {
			t.Fatalf("sleeper %d: %d, %v", i, got, err)
		}
	}
	for i := range woken {
		if woken[i].Load() != 1 {
			t.Errorf("sleeper %d woke %d times", i, woken[i].Load())
		}
	}
	if early.Load() > 0 {
		t.Errorf("%d woke early", early.Load())
	}
	slices.Sort(lateness)
	at := func(share float64) time.Duration {
		return lateness[int(share*float64(n-1))].Round(10 * time.Microsecond)
	}
	t.Logf("late: p50 %v, p99 %v, the last %v; none early: %v", at(0.5), at(0.99), at(1), early.Load() == 0)
	t.Logf("tally: sleepers=%d", n)
}

type sleeper struct {
	N     int
	Until time.Time
}

// startAll calls start for each number, many at a time: they share commits.
func startAll(t *testing.T, n int, start func(i int) error) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, 512) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !t.Failed(); i = int(next.Add(1)) - 1 {
				if err := start(i); err != nil {
					t.Errorf("start %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// weigh returns the bytes of live heap, and of memory that the process has, 0 where the
// machine does not tell.
func weigh() (heap, resident uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return m.HeapAlloc, 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return m.HeapAlloc, kib << 10
		}
	}
	return m.HeapAlloc, 0
}

// TestReplayOfManyEvents prints how long a node takes to take over an execution of
// 100,000 events: to read, decode, fold and replay it.
func TestReplayOfManyEvents(t *testing.T) {
	const steps = 100_000
	var calls atomic.Int64
	flow := loom.NewFlow("long", func(ctx loom.Context, _ int) (int64, error) {
		for range steps {
			if _, err := loom.Do(ctx, "tick", func(context.Context) (int64, error) { return calls.Add(1), nil }, loom.ReadOnly()); err != nil {
				return 0, err
			}
		}
		v, err := loom.Await[int64](ctx, "go")
		return v, err
	})
	path := filepath.Join(t.TempDir(), "loom.db")
	open := func() *loom.Runtime {
		rt, err := loom.Open(t.Context(), Open(path, MayLoseLastCommits()), loom.Flows(flow), loom.Tuning{Unload: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return rt
	}
	rt := open()
	if _, err := flow.Start(t.Context(), rt, 0, loom.ID("long")); err != nil {
		t.Fatal(err)
	}
	for e, err := range rt.Follow(t.Context(), "long", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == event.KindMessageAwaited {
			break
		}
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt = open()
	defer func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}()
	began := time.Now()
	if err := rt.Signal(t.Context(), "long", "go", 7); err != nil {
		t.Fatal(err)
	}
	run, err := loom.Attach[int64](rt, "long")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := run.Result(t.Context()); v != 7 || err != nil {
		t.Fatalf("%d, %v", v, err)
	}
	if calls.Load() != steps {
		t.Fatalf("%d calls of %d", calls.Load(), steps)
	}
	t.Logf("an execution of %d events goes on %v after its message", steps+2, time.Since(began).Round(time.Millisecond))
}
