package loom_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// journey is a flow with a step, a sleep, a message, two branches and a step again.
func journey(l *ledger) *loom.Flow[int, string] {
	return loom.NewFlow("journey", func(ctx loom.Context, _ int) (string, error) {
		act := func(ctx loom.Context, args string) (string, error) {
			return loom.Do(ctx, "act", func(ctx context.Context) (string, error) {
				l.call(ctx, args)
				return args, nil
			}, loom.Args(args))
		}
		a, err := act(ctx, "first")
		if err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
			return "", err
		}
		word, err := loom.Await[string](ctx, "word")
		if err != nil {
			return "", err
		}
		left := loom.Go(ctx, "left", func(ctx loom.Context) (string, error) { return act(ctx, "left") })
		right := loom.Go(ctx, "right", func(ctx loom.Context) (string, error) { return act(ctx, "right") })
		both, err := loom.All(ctx, left, right)
		if err != nil {
			return "", err
		}
		last, err := act(ctx, a+word+strings.Join(both, ""))
		return last + loom.NewID(ctx)[:0], err
	})
}

const journeysEnd = "firsthelloleftright"

// claims B-52 and B-67, oracle O3: the node dies at each of its commits, before the store
// has it and after. Another one finishes; no recorded result is computed again.
func TestANodeMayDieAtEachCommit(t *testing.T) {
	for _, landed := range []bool{false, true} {
		for k := 1; ; k++ {
			reached := false
			bubble(t, func(t *testing.T) {
				db := memstore.New(nil)
				l := &ledger{db: db}
				flow := journey(l)
				first, way := tapped(t, db, loom.Flows(flow))
				var n atomic.Int64
				die := func(c call) {
					if n.Add(1) == int64(k) {
						reached = true
						way.kill()
					}
				}
				if landed {
					way.onAnswer(func(c call, _ store.Result) {
						die(c)
						_ = way.alive() // the answer never arrives
					})
				} else {
					way.on(func(c call) {
						if c.op == "commit" {
							die(c)
						}
					})
				}
				started := make(chan error, 1)
				go func() {
					_, err := flow.Start(context.Background(), first, 0, loom.ID("j"))
					started <- err
				}()
				client := open(t, db, loom.Flows(flow), loom.Tuning{ClientOnly: true})
				pass(t, time.Second)
				if len(everything(t, db)) == 0 { // the start never landed: try it again
					begin(t, flow, client, 0, loom.ID("j"))
				}
				signal(t, client, "j", "word", "hello", loom.MessageID("w"))
				pass(t, 10*time.Second)
				durable := logOf(t, db, "j")
				second := open(t, db, loom.Flows(flow))
				yields(t, attach[string](t, second, "j"), journeysEnd)
				l.check(t, "j", false)
				log := logOf(t, db, "j")
				if !slices.EqualFunc(log[:len(durable)], durable, event.Envelope.Equal) {
					t.Fatalf("k=%d: what was durable changed", k)
				}
				if k == 1 && landed && len(durable) != 1 {
					t.Fatalf("a crash between sequence 0 and the body left %s", kinds(durable))
				}
				way.release()
				<-started
			})
			if !reached {
				if k < 6 {
					t.Fatalf("only %d commits were met", k-1)
				}
				break
			}
		}
	}
}

// A recovered execution writes the log that an undisturbed one writes, but for times and
// tokens (claim B-67).
func TestARecoveredLogIsThatOfAnUndisturbedRun(t *testing.T) {
	shape := func(log []event.Envelope) (out []string) {
		for _, e := range log {
			p, _ := e.Decode()
			switch q := p.(type) {
			case event.TimerScheduled:
				q.Deadline = 0
				p = q
			case event.MessageReceived:
				q.Message = ""
				p = q
			case event.ExecutionStarted:
				q.Seed = ""
				p = q
			}
			out = append(out, fmt.Sprintf("%d %s %+v", e.Sequence, e.Kind, p))
		}
		return out
	}
	var shapes [][]string
	for _, crash := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			db := memstore.New(nil)
			l := &ledger{db: db}
			flow := loom.NewFlow("line", func(ctx loom.Context, n int) (int, error) {
				v := 0
				for range n {
					args := fmt.Sprint(v)
					if _, err := loom.Do(ctx, "act", func(ctx context.Context) (int, error) { l.call(ctx, args); return v, nil }, loom.Args(args)); err != nil {
						return 0, err
					}
					v++
					if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
						return 0, err
					}
				}
				return loom.Await[int](ctx, "n")
			})
			rt, way := tapped(t, db, loom.Flows(flow))
			begin(t, flow, rt, 3, loom.ID("j"))
			if crash {
				for n := range 3 {
					pass(t, 700*time.Millisecond)
					way.kill()
					rt, way = tapped(t, db, loom.Flows(flow))
					until(t, "a takeover", func() bool { return headOf(t, db, "j").Tip.Fence == store.Fence(n+1) })
				}
			}
			signal(t, rt, "j", "n", 5)
			yields(t, attach[int](t, rt, "j"), 5)
			l.check(t, "j", false)
			if fenced := headOf(t, db, "j").Tip.Fence > 0; fenced != crash {
				t.Fatalf("crash %v, token %d", crash, headOf(t, db, "j").Tip.Fence)
			}
			shapes = append(shapes, shape(logOf(t, db, "j")))
		})
	}
	if !slices.Equal(shapes[0], shapes[1]) {
		t.Fatalf("%s\n%s", strings.Join(shapes[0], "\n"), strings.Join(shapes[1], "\n"))
	}
}

// claim H-02: who lives is not superseded, however long its effect takes or the scan of
// others runs; who is dead is, once, when its lease is over, and not before.
func TestATakeoverComesWhenTheLeaseIsOverAndNotBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		hold := shutGate(t)
		flow := loom.NewFlow("long", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "x", func(context.Context) (string, error) { calls.call("x"); hold.pass(); return "x", nil })
		})
		db := memstore.New(nil)
		first, way := tapped(t, db, loom.Flows(flow), loom.Tuning{Lease: 10 * time.Second})
		begin(t, flow, first, 0, loom.ID("x"))
		second := open(t, db, loom.Flows(flow))
		without := open(t, db) // knows no flow: takes nothing over
		pass(t, time.Minute)
		if headOf(t, db, "x").Tip.Fence != 0 || calls.count("") != 1 {
			t.Fatal("a living node was superseded")
		}
		way.kill()
		before := time.Now()
		until(t, "a takeover", func() bool { return headOf(t, db, "x").Tip.Fence == 1 })
		if took := time.Since(before); took < 10*time.Second-10*time.Second/3-time.Second || took > 13*time.Second {
			t.Fatalf("taken over after %v", took)
		}
		hold.open()
		yields(t, attach[string](t, second, "x"), "x")
		if calls.count("") != 2 || headOf(t, db, "x").Tip.Fence != 1 {
			t.Fatalf("%d calls", calls.count(""))
		}
		_ = without
	})
}

// A body that kills its process again and again is waited for longer each time, and after
// eight times it is shown as stuck and left alone.
func TestStrikes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls counter
		var process atomic.Pointer[tap]
		flow := loom.NewFlow("killer", func(ctx loom.Context, _ int) (string, error) {
			process.Load().kill() // and nothing of it goes on
			calls.inc()
			return "", loom.Sleep(ctx, "nap", 0)
		})
		db := memstore.New(nil)
		client := open(t, db, loom.Flows(flow), loom.Tuning{ClientOnly: true})
		begin(t, flow, client, 0, loom.ID("k"))
		for n := 1; n <= store.MaxStrikes+1; n++ {
			start(t, db, &process, flow)
			before := time.Now()
			until(t, "the body", func() bool { return calls.Load() == int64(n) })
			if wait := time.Since(before); n > 2 && wait < time.Second<<(n-2)-3*time.Second {
				t.Fatalf("takeover %d after %v", n, wait)
			}
		}
		start(t, db, &process, flow)
		pass(t, 20*time.Minute)
		if n := calls.Load(); n != store.MaxStrikes+1 {
			t.Fatalf("%d bodies", n)
		}
		if s, err := client.Summary(t.Context(), "k"); err != nil || s.Strikes != store.MaxStrikes {
			t.Fatalf("%+v, %v", s, err)
		}
	})
}

// start opens a process with a short lease.
func start(t *testing.T, db *memstore.DB, process *atomic.Pointer[tap], flow loom.AnyFlow) {
	t.Helper()
	way := newTap(t, db)
	process.Store(way)
	openTap(t, way, loom.Flows(flow), loom.Tuning{Lease: time.Second})
}
