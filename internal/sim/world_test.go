package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/internal/rt"
)

var background = context.Background()

// market is a workload that uses everything a node has: fibers that pass work to
// each other, timers at equal instants, contexts, coroutines, randomness.
func market(w *World, out *[]string) func() {
	return func() {
		say := func(format string, args ...any) {
			s := fmt.Sprintf("%v ", w.Now()) + fmt.Sprintf(format, args...)
			*out = append(*out, s)
			w.Note("%s", s)
		}
		finished := make([]rt.Latch, 0, 3)
		for _, name := range []string{"a", "b", "c"} {
			n := w.Node(name)
			all := w.Outside().NewLatch()
			finished = append(finished, all)
			n.Go("main", func() {
				ctx, cancel := n.WithCancel(background)
				left, ended := 5, n.NewLatch()
				for i := range 5 {
					n.Go("worker", func() {
						co := n.Coroutine(func(yield func()) {
							for k := range 3 {
								say("%s.%d step %d", name, i, k)
								n.Sleep(time.Duration(k) * time.Millisecond)
								yield()
							}
						})
						for co.Resume() {
							n.Yield()
						}
						if left--; left == 0 {
							ended.Open()
						}
					})
				}
				n.After(time.Hour, func() { say("%s never", name) })()
				n.After(2*time.Millisecond, func() { cancel(errors.New("late")) })
				say("%s %v", name, n.NewLatch().Wait(ctx))
				ended.Wait(background)
				var p [4]byte
				n.Random(p[:])
				say("%s done %x %v", name, p, n.Wall())
				all.Open()
			})
		}
		for _, l := range finished {
			l.Wait(background)
		}
	}
}

func TestSameSeedSameRun(t *testing.T) {
	distinct, policies := map[uint64]bool{}, map[Policy]int{}
	for seed := range uint64(200) {
		var logs [2][]string
		var worlds [2]*World
		for i := range worlds {
			w := New(seed, nil)
			if err := w.Run(market(w, &logs[i])); err != nil {
				t.Fatal(err)
			}
			worlds[i] = w
		}
		if worlds[0].Digest() != worlds[1].Digest() || !slices.Equal(logs[0], logs[1]) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
		replay := New(seed+1, &Options{Choices: worlds[0].Choices()})
		var again []string
		if err := replay.Run(market(replay, &again)); err != nil {
			t.Fatal(err)
		}
		// Node randomness is from the seed, so only the order is the same.
		if len(again) != len(logs[0]) || replay.Steps() != worlds[0].Steps() {
			t.Fatalf("seed %d: its choices give another run", seed)
		}
		distinct[worlds[0].Digest()] = true
		policies[worlds[0].Policy()]++
	}
	if len(distinct) != 200 || len(policies) != 4 {
		t.Fatalf("%d distinct runs of 200, policies %v", len(distinct), policies)
	}
}

func TestCrashUnwindsEverything(t *testing.T) {
	base := runtime.NumGoroutine()
	for seed := range uint64(100) {
		w := New(seed, nil)
		n := w.Node("a")
		unwound, after := 0, 0
		dying := func() {
			unwound++
			n.Go("x", func() { after++ }) // does not return
			after++
		}
		err := w.Run(func() {
			for i := range 4 {
				n.Go("waits", func() {
					defer dying()
					switch i {
					case 0:
						n.NewLatch().Wait(background)
					case 1:
						n.Sleep(time.Hour)
					case 2: // inside a coroutine
						n.Coroutine(func(func()) { defer dying(); n.Sleep(time.Hour) }).Resume()
					case 3: // beside a suspended coroutine
						co := n.Coroutine(func(yield func()) { defer dying(); yield() })
						co.Resume()
						n.Sleep(time.Hour)
					}
					after++
				})
			}
			n.After(time.Minute, func() { after++ })
			n.Go("crashes", func() {
				defer func() { unwound++ }()
				n.Sleep(time.Second)
				n.Coroutine(func(func()) { n.Crash() }).Resume()
				after++
			})
			w.Outside().Sleep(2 * time.Second)
			if !n.Dead() {
				w.Fail("alive")
			}
			w.Outside().Sleep(time.Hour)
		})
		if err != nil {
			t.Fatal(err)
		}
		if unwound != 7 || after != 0 {
			t.Fatalf("seed %d: %d deferred calls, want 7; %d things ran on the dead node", seed, unwound, after)
		}
	}
	settle(t, base)
}

// settle waits until no goroutine of a world is left.
func settle(t *testing.T, base int) {
	t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= base {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), base)
}

func TestFailuresNameTheSeedAndLeaveNoGoroutine(t *testing.T) {
	base := runtime.NumGoroutine()
	stuck := func(n *Node) { n.NewLatch().Wait(background) }
	for _, c := range []struct {
		name, want string
		main       func(*World, *Node)
	}{
		{"panic", "panic in a/p#2: boom", func(w *World, n *Node) { n.Go("p", func() { panic("boom") }); stuck(w.Outside()) }},
		{"panic in a coroutine", "panic in a coroutine", func(w *World, n *Node) {
			w.Outside().Coroutine(func(func()) { panic("boom") }).Resume()
			stuck(w.Outside())
		}},
		{"deadlock", "deadlock: nothing can run", func(w *World, n *Node) { stuck(w.Outside()) }},
		{"leaked fiber", "leaked: fiber a/l#2 (latch)", func(w *World, n *Node) { n.Go("l", func() { stuck(n) }) }},
		{"leaked coroutine", "leaked: coroutine 1 of outside", func(w *World, n *Node) {
			w.Outside().Coroutine(func(yield func()) { yield() }).Resume()
		}},
		{"leaked timer", "leaked: timer of a", func(w *World, n *Node) { n.After(time.Hour, func() {}) }},
		{"no progress", "no progress: 1000 steps", func(w *World, n *Node) {
			for {
				w.Outside().Yield()
			}
		}},
		{"foreign wait", "waits for a latch of node a", func(w *World, n *Node) { stuck(n) }},
		{"dead node called", "calls the dead node a", func(w *World, n *Node) { n.Crash(); n.Mono() }},
		{"oracle", "as the oracle says", func(w *World, n *Node) { w.Fail("as the %s says", "oracle"); stuck(n) }},
	} {
		w := New(42, &Options{MaxSteps: 1000, Replay: func(seed uint64) string { return fmt.Sprintf("make sim SEED=%d", seed) }})
		n := w.Node("a")
		err := w.Run(func() { c.main(w, n) })
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "make sim SEED=42") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	settle(t, base)
}

func TestPausedNodeStandsStill(t *testing.T) {
	for seed := range uint64(50) {
		w := New(seed, nil)
		n := w.Node("a")
		var fired time.Duration
		ticks := 0
		err := w.Run(func() {
			n.Go("ticks", func() {
				for range 20 {
					n.Sleep(time.Second)
					ticks++
				}
			})
			n.After(5*time.Second, func() { fired = w.Now() })
			w.Outside().Sleep(3500 * time.Millisecond)
			n.Pause()
			w.Outside().Sleep(10 * time.Second)
			if ticks != 3 || fired != 0 {
				w.Fail("%d ticks, timer fired at %v", ticks, fired)
			}
			n.Resume()
			w.Outside().Sleep(time.Minute)
		})
		if err != nil {
			t.Fatal(err)
		}
		if ticks != 20 || fired != 13500*time.Millisecond {
			t.Fatalf("%d ticks, timer fired at %v", ticks, fired)
		}
	}
}

func TestPauseAndCrashAtEachAwaitPoint(t *testing.T) {
	body := func(n *Node, done rt.Latch) func() {
		return func() {
			for range 3 {
				n.Sleep(time.Second)
				n.Yield()
			}
			done.Open()
		}
	}
	w := New(1, nil)
	n := w.Node("a")
	if err := w.Run(func() { n.Go("body", body(n, w.Outside().NewLatch())); w.Outside().Sleep(time.Minute) }); err != nil {
		t.Fatal(err)
	}
	if n.Points() != 6 {
		t.Fatalf("%d points", n.Points())
	}
	for k := int64(1); k <= 6; k++ {
		w := New(1, nil)
		n := w.Node("a")
		var finished time.Duration
		err := w.Run(func() {
			done := w.Outside().NewLatch()
			first := func() {
				n.Crash()
			}
			n.AtPoint(k, first)
			n.Go("body", body(n, done))
			w.Outside().Sleep(time.Minute)
			if !n.Dead() || done.Opened() {
				w.Fail("alive behind point %d", k)
			}
			m := w.Node("a2")
			m.AtPoint(k, func() {
				m.Pause()
				w.Outside().After(time.Hour, m.Resume)
			})
			m.Go("body", body(m, done))
			done.Wait(background)
			finished = w.Now()
		})
		if err != nil {
			t.Fatal(err)
		}
		if finished < time.Hour {
			t.Fatalf("point %d: paused node finished at %v", k, finished)
		}
	}
}

func TestClocksAreTheNodesOwn(t *testing.T) {
	w := New(3, nil)
	fast, frozen := w.Node("fast"), w.Node("frozen")
	err := w.Run(func() {
		fast.MonoClock().Drift(100_000) // 10% too fast
		fast.WallClock().Jump(2 * time.Hour)
		frozen.WallClock().Freeze(true)
		out := w.Outside()
		was := frozen.Wall()
		var woke time.Duration
		fast.After(11*time.Second, func() { woke = w.Now() })
		stop := frozen.After(time.Second, func() { w.Fail("a frozen clock came to a deadline") })
		frozen.MonoClock().Freeze(true)
		out.Sleep(time.Minute)
		if woke != 10*time.Second {
			w.Fail("11 s of the fast clock took %v", woke)
		}
		if got := fast.Wall().Sub(out.Wall()); got != 2*time.Hour {
			w.Fail("wall is ahead by %v", got)
		}
		if !frozen.Wall().Equal(was) {
			w.Fail("frozen wall moved")
		}
		frozen.WallClock().Freeze(false)
		out.Sleep(time.Second)
		if got := frozen.Wall().Sub(was); got != time.Second {
			w.Fail("thawed wall moved by %v", got)
		}
		stop()
		frozen.MonoClock().Freeze(false)
		never := out.After(1<<63-1, func() { w.Fail("never came") })
		out.Sleep(time.Hour)
		never()
		w.StoreClock().Drift(-500_000)
		before := w.StoreNow()
		out.Sleep(time.Second)
		if d := w.StoreNow().Sub(before); d != time.Second/2 {
			w.Fail("the store's clock went %v", d)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestContextsEndInOrder(t *testing.T) {
	cause := errors.New("enough")
	type key struct{}
	for seed := range uint64(50) {
		w := New(seed, nil)
		n := w.Node("a")
		ended := 0
		err := w.Run(func() {
			parent, stop := context.WithCancelCause(background) // foreign: polled
			defer stop(nil)
			all := w.Outside().NewLatch()
			var stops []context.CancelFunc
			n.Go("root", func() {
				own, cancel := n.WithCancel(parent)
				child, drop := n.WithCancel(context.WithValue(own, key{}, 1))
				std, stopStd := context.WithCancel(child)
				stops = append(stops, stopStd)
				for _, ctx := range []context.Context{own, child, std, context.WithValue(std, key{}, 2)} {
					n.Go("waits", func() {
						if err := n.NewSignal().Wait(ctx); err != cause || context.Cause(ctx) != cause {
							w.Fail("ended with %v", err)
						}
						if ended++; ended == 4 {
							for _, s := range stops {
								s()
							}
							drop(nil)
							all.Open()
						}
					})
				}
				n.Sleep(time.Second)
				if seed%2 == 0 {
					cancel(cause)
				} else {
					stop(cause)
				}
				if child.Err() == nil || std.Err() == nil {
					w.Fail("a child outlived its parent")
				}
			})
			all.Wait(background)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSignalRemembersOneWake(t *testing.T) {
	w := New(9, nil)
	n := w.Outside()
	err := w.Run(func() {
		s := n.NewSignal()
		s.Wake()
		s.Wake()
		if s.Wait(background) != nil {
			w.Fail("no wake")
		}
		ctx, cancel := n.WithCancel(background)
		n.After(time.Second, func() { cancel(nil) })
		if err := s.Wait(ctx); !errors.Is(err, context.Canceled) || w.Now() != time.Second {
			w.Fail("a wake was taken twice: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkStep(b *testing.B) {
	w := New(1, &Options{MaxSteps: 1 << 40, Policy: Uniform})
	err := w.Run(func() {
		for range 8 {
			w.Outside().Go("f", func() {
				for range b.N {
					w.Outside().Yield()
				}
			})
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(w.Steps()), "ns/step")
}

func TestOpenLatchBeforeEndedContext(t *testing.T) {
	for seed := range uint64(20) {
		w := New(seed, nil)
		n := w.Outside()
		err := w.Run(func() {
			l := n.NewLatch()
			ctx, cancel := n.WithCancel(background)
			cancel(nil)
			if l.Wait(ctx) == nil || l.Opened() {
				w.Fail("it was closed")
			}
			l.Open()
			l.Open()
			if l.Wait(ctx) != nil || !l.Opened() {
				w.Fail("it is open")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
