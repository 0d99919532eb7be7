package loom_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// ledger is the outside world: it is called by effects, and checks at each call what
// must be durable by then.
type ledger struct {
	db *memstore.DB

	mu    sync.Mutex
	calls map[string]int // execution/step → calls
	wrong []string
}

// call is an effect: oracle O7, the intent is durable, under the token of who owns the
// execution, with the input that is used.
func (l *ledger) call(ctx context.Context, args string) {
	id, path, _ := loom.StepOf(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]int{}
	}
	l.calls[id+"/"+path]++
	intents := 0
	for e, err := range l.db.Read(context.Background(), event.ExecutionID(id), store.Range{}) {
		if err != nil {
			l.wrong = append(l.wrong, err.Error())
			return
		}
		p, _ := e.Decode()
		switch p := p.(type) {
		case event.EffectScheduled:
			if p.Op == path {
				intents++
				if want, _ := json.Marshal(args); string(p.Args) != string(want) {
					l.wrong = append(l.wrong, fmt.Sprintf("%s/%s was called with %s, the intent holds %s", id, path, want, p.Args))
				}
			}
		case event.EffectCompleted:
			if p.Op == path {
				l.wrong = append(l.wrong, fmt.Sprintf("%s/%s was called although its result is durable", id, path))
			}
		}
	}
	if intents != 1 {
		l.wrong = append(l.wrong, fmt.Sprintf("%s/%s was called with %d durable intents", id, path, intents))
	}
}

// check holds the calls of an execution against its log: oracle O5, a step is called at
// most once more for each change of owners.
func (l *ledger) check(t *testing.T, id string, exactly bool) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wrong {
		t.Error(w)
	}
	changes := int(headOf(t, l.db, id).Tip.Fence)
	for _, op := range stateOf(t, l.db, id).Ops {
		if n := l.calls[id+"/"+op.Path]; op.Kind == "effect" && (n < 1 || n > 1+changes || exactly && n != 1) {
			t.Errorf("%s/%s was called %d times over %d changes of owners", id, op.Path, n, changes)
		}
	}
}

// chained is a flow of n steps, each with the result of the one before as its input.
func chained(l *ledger) *loom.Flow[int, int] {
	return loom.NewFlow("chain", func(ctx loom.Context, n int) (int, error) {
		v := 0
		for range n {
			args := strconv.Itoa(v)
			var err error
			v, err = loom.Do(ctx, "add", func(ctx context.Context) (int, error) {
				l.call(ctx, args)
				n, err := strconv.Atoi(args)
				return n + 1, err
			}, loom.Args(args))
			if err != nil {
				return v, err
			}
		}
		return v, nil
	})
}

// claim H-03: with every commit held back in turn, no effect is called before its intent
// is acknowledged, nor a result handed out before the end is.
func TestNoEffectBeforeItsIntentIsAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, opts := range [][]loom.StartOption{nil, {loom.ID("x")}} {
			db := memstore.New(nil)
			l := &ledger{db: db}
			flow := chained(l)
			rt, way := tapped(t, db, loom.Flows(flow))
			calls := func() (n int) {
				l.mu.Lock()
				defer l.mu.Unlock()
				for _, c := range l.calls {
					n += c
				}
				return n
			}
			way.on(func(c call) {
				if c.op != "commit" {
					return
				}
				before := calls()
				<-time.After(time.Second) // everything else goes on meanwhile
				if after := calls(); after != before {
					t.Errorf("%d effects were called while commit %+v was held back", after-before, c.req.Expect)
				}
			})
			way.onAnswer(func(call, store.Result) { // and so is its acknowledgement
				before := calls()
				<-time.After(time.Second)
				if calls() != before {
					t.Error("an effect was called before the acknowledgement came")
				}
			})
			run := begin(t, flow, rt, 4, opts...)
			yields(t, run, 4)
			l.check(t, run.ID(), true)
		}
	})
}

// Result n and intent n+1 share a commit: at most N+2 of them for N sequential effects,
// N+1 for a minted id.
func TestCommitsForNSequentialEffects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 10, 100} {
			for _, chosen := range []bool{false, true} {
				db := memstore.New(nil)
				l := &ledger{db: db}
				flow := chained(l)
				rt, way := tapped(t, db, loom.Flows(flow))
				var opts []loom.StartOption
				most := n + 1
				if chosen {
					opts, most = append(opts, loom.ID("x")), n+2
				}
				run := begin(t, flow, rt, n, opts...)
				yields(t, run, n)
				if got := len(way.commits(run.ID())); got > most {
					t.Errorf("%d commits for %d effects, chosen id: %v; want at most %d", got, n, chosen, most)
				}
				if reads := len(way.ops(run.ID())) - len(way.commits(run.ID())); reads != 0 {
					t.Errorf("%d other operations", reads)
				}
				l.check(t, run.ID(), true)
			}
		}
	})
}

// claim B-06: once a write is refused, the run ends at its next barrier: no effect after
// it, nothing more is sent, the log ends before it.
func TestARefusedWriteEndsTheRunAtItsNextBarrier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, k := range []int{1, 2, 3} {
			db := memstore.New(nil)
			l := &ledger{db: db}
			flow := chained(l)
			heard := &hears{}
			rt, way := tapped(t, db, loom.Flows(flow), heard.hooks())
			boom := errors.New("constraint violated")
			n := 0
			way.answering(func(c call) (store.Result, bool) {
				if n++; n <= k {
					return store.Result{}, false
				}
				return store.Result{Outcome: store.Refused, Refusal: store.RefusedInvalid, Err: boom}, true
			})
			run := begin(t, flow, rt, 10, loom.ID("x"))
			_, err := run.Result(soon(t))
			var failed *loom.StorageWriteError
			if !errors.As(err, &failed) || !errors.Is(err, boom) || !failed.Definite || failed.ID != "x" {
				t.Fatalf("k=%d: %v", k, err)
			}
			log, commits := logOf(t, db, "x"), 0
			for _, c := range way.commits("x") {
				if len(c.Events) > 0 { // and not a claim of reconcile's
					commits++
				}
			}
			if commits != k+1 || len(log) != max(1, 2*(k-1)) {
				t.Fatalf("k=%d: %d commits sent, log %s", k, commits, kinds(log))
			}
			calls := 0
			for _, c := range l.calls {
				calls += c
			}
			if calls != k-1 {
				t.Fatalf("k=%d: %d calls", k, calls)
			}
			// claim B-42: OnEvent told of what never became durable, and OnAborted says so.
			// (claim H-13)
			until(t, "OnAborted", func() bool { return len(heard.errs("x")) > 0 })
			seen := heard.seen("x")
			if len(seen) <= len(log) || !errors.Is(heard.errs("x")[0], boom) {
				t.Fatalf("k=%d: heard %v", k, heard.all("x"))
			}
			// When the store is well again the same node goes on, and nobody restarts it.
			way.answering(nil)
			yields(t, run, 10)
			l.check(t, "x", false)
			pass(t, time.Second)
			if err := grammar(heard.all("x")); err != nil { // oracle O13
				t.Fatalf("k=%d: %v: %v", k, err, heard.all("x"))
			}
		}
	})
}

// claim B-43: while the store is well, what any subscriber heard of is in a log.
func TestOnAHealthyStoreNothingIsHeardThatIsNotDurable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		l := &ledger{db: db}
		flow := chained(l)
		a, b := &hears{}, &hears{}
		nodes := []*loom.Runtime{open(t, db, loom.Flows(flow), a.hooks()), open(t, db, loom.Flows(flow), b.hooks())}
		var wg sync.WaitGroup
		for i := range 20 {
			for _, rt := range nodes {
				wg.Go(func() {
					id := fmt.Sprint("x", i)
					_, err := flow.Start(t.Context(), rt, 3, loom.ID(id))
					var exists *loom.ExecutionAlreadyExistsError
					if err != nil && !errors.As(err, &exists) {
						t.Error(err)
					}
					if v, err := attach[int](t, rt, id).Result(soon(t)); v != 3 || err != nil {
						t.Error(v, err)
					}
				})
			}
		}
		wg.Wait()
		pass(t, time.Second)
		for i := range 20 {
			id := fmt.Sprint("x", i)
			log := logOf(t, db, id)
			heard := append(a.seen(id), b.seen(id)...)
			if len(heard) != len(log) {
				t.Fatalf("%s: heard %d events, the log has %d", id, len(heard), len(log))
			}
			for n, e := range heard {
				if !e.Equal(log[n]) {
					t.Fatalf("%s: heard %s, the log has %s", id, e.ID(), log[n].ID())
				}
			}
			l.check(t, id, true)
		}
	})
}

// claim H-28: what a journal holds in memory is bounded while the store is slow; nothing
// deadlocks when it is back.
func TestASlowStoreBoundsWhatIsHeldInMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var looks counter
		text := strings.Repeat("x", 300<<10)
		flow := loom.NewFlow("looks", func(ctx loom.Context, n int) (int, error) {
			for range n {
				if _, err := loom.Do(ctx, "look", func(context.Context) (string, error) { looks.inc(); return text, nil }, loom.ReadOnly()); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		rt, way := tapped(t, memstore.New(nil), loom.Flows(flow))
		commits := shutGate(t)
		way.commitGate(commits, "")
		run := begin(t, flow, rt, 8)
		pass(t, time.Second)
		if n := looks.Load(); n != 4 {
			t.Fatalf("%d results gathered, more than 1 MiB or less", n)
		}
		commits.open()
		yields(t, run, 8)
		looks.is(t, "looked", 8)
	})
}
