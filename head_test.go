package loom_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// words is a flow that receives n messages and calls an effect for each.
func words(bodies *counter, calls *service, n int) *loom.Flow[int, string] {
	return loom.NewFlow("words", func(ctx loom.Context, _ int) (string, error) {
		bodies.inc()
		var all []string
		for range n {
			word, err := loom.Await[string](ctx, "word")
			if err != nil {
				return "", err
			}
			if _, err := loom.Do(ctx, "act", func(context.Context) (int, error) { return calls.call(loom.ExecutionID(ctx) + word), nil }); err != nil {
				return "", err
			}
			all = append(all, word)
		}
		return strings.Join(all, " "), nil
	})
}

// case 17: executions leave memory and come back all the time, while what their last runs
// wrote is slow to become durable and messages keep coming: each goes on from what is
// durable, so that no message and no step is lost or had twice, and no log diverges.
func TestReloadsUnderLoadGoOnFromWhatIsDurable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const executions, messages = 20, 12
		var bodies counter
		var calls service
		flow := words(&bodies, &calls, messages)
		db := memstore.New(nil)
		warned := &warnings{}
		var mu sync.Mutex
		chance := rand.New(rand.NewPCG(17, 17))
		some := func(most time.Duration) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(chance.Int64N(int64(most)))
		}
		var nodes []*loom.Runtime
		for range 2 {
			rt, way := tapped(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Millisecond}, warned.hooks())
			way.on(func(c call) {
				if c.op == "commit" || c.op == "read" || c.op == "pending" {
					<-time.After(some(5 * time.Millisecond))
				}
			})
			nodes = append(nodes, rt)
		}
		var want []string
		for i := range messages {
			want = append(want, fmt.Sprint("w", i))
		}
		var senders sync.WaitGroup
		for i := range executions {
			id := fmt.Sprint("x", i)
			run := begin(t, flow, nodes[i%2], 0, loom.ID(id))
			senders.Go(func() {
				for k, word := range want {
					signal(t, nodes[(i+k)%2], id, "word", word)
					<-time.After(some(20 * time.Millisecond))
				}
				if got, err := run.Result(soon(t)); err != nil || got != strings.Join(want, " ") {
					t.Errorf("%s: %q, %v", id, got, err)
				}
			})
		}
		senders.Wait()
		for i := range executions {
			id := fmt.Sprint("x", i)
			for _, word := range want {
				if n := calls.count(id + word); n != 1 {
					t.Errorf("%s acted %d times on %s", id, n, word)
				}
			}
			if errs := warned.of(id); len(errs) > 0 {
				t.Errorf("%s: %v", id, errs)
			}
			for seq, e := range logOf(t, db, id) {
				if e.Sequence != event.Seq(seq) {
					t.Fatalf("%s: %s is at place %d", id, e.ID(), seq)
				}
			}
		}
		if n := bodies.Load(); n < 3*executions {
			t.Fatalf("bodies were entered %d times: hardly anything left memory", n)
		}
	})
}

// case 17: a log that shows less than its head row says, as behind a replica, is not gone
// on with: no claim, no warning, and it is looked at again. Nor is one that shows more,
// because it moved on after the head row was read.
func TestALogIsGoneOnWithAtItsHeadAlone(t *testing.T) {
	claims := func(way *tap) (n int) {
		for _, r := range way.commits("x") {
			if r.Claim != nil && r.Expect.Exists() {
				n++
			}
		}
		return n
	}
	for _, behind := range []int{1, 2, 1000} { // events that the reads of the second node leave out
		t.Run(fmt.Sprint("less by ", behind), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var bodies counter
				var calls service
				flow := words(&bodies, &calls, 2)
				db := memstore.New(nil)
				first := open(t, db, loom.Flows(flow))
				begin(t, flow, first, 0, loom.ID("x"))
				signal(t, first, "x", "word", "a")
				until(t, "a step", func() bool { return len(logOf(t, db, "x")) == 6 })
				shut(t, first)
				warned := &warnings{}
				second, way := tapped(t, db, loom.Flows(flow), warned.hooks())
				way.leaveOut(behind)
				signal(t, second, "x", "word", "b") // it must be woken
				pass(t, time.Minute)
				if n := claims(way); n != 0 || len(way.reads("x")) < 2 || headOf(t, db, "x").Owner != "" || bodies.Load() != 1 {
					t.Fatalf("%d claims after %d reads that showed too little; the body was entered %d times", n, len(way.reads("x")), bodies.Load())
				}
				if errs := warned.of("x"); len(errs) != 0 {
					t.Fatalf("a log that is behind is reported as broken: %v", errs)
				}
				way.leaveOut(0)
				yields(t, attach[string](t, second, "x"), "a b")
				if calls.count("xa") != 1 || calls.count("xb") != 1 {
					t.Fatalf("calls: %v", calls.all())
				}
			})
		})
	}
	t.Run("more", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			var bodies counter
			var calls service
			flow := words(&bodies, &calls, 2)
			db := memstore.New(nil)
			tune := loom.Tuning{Unload: time.Second}
			begin(t, flow, open(t, db, loom.Tuning{ClientOnly: true}), 0, loom.ID("x"))
			way := newTap(t, db)
			reads := shutGate(t)
			way.on(func(c call) {
				if c.op == "read" && c.id == "x" {
					reads.pass()
				}
			})
			slow := openTap(t, way, loom.Flows(flow), tune)
			until(t, "a read", func() bool { return reads.waiting() == 1 }) // it has seen the head row
			quick := open(t, db, loom.Flows(flow), tune)
			signal(t, quick, "x", "word", "a")
			until(t, "the quick node is done", func() bool { h := headOf(t, db, "x"); return h.Owner == "" && h.Tip.Head == 5 })
			reads.open()
			synctest.Wait()
			if n := claims(way); n != 0 {
				t.Fatalf("%d claims of a tip that the log had left", n)
			}
			signal(t, slow, "x", "word", "b")
			yields(t, attach[string](t, slow, "x"), "a b")
			if calls.count("xa") != 1 || calls.count("xb") != 1 {
				t.Fatalf("calls: %v", calls.all())
			}
		})
	})
}
