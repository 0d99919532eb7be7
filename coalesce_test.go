package loom_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/memstore"
)

// gathered is a store whose commits are gathered, and a tap below that.
type gathered struct {
	db   *memstore.DB
	o    coalesce.Options
	hold *gate         // calls of Commit wait here
	slow time.Duration // each call takes so long
	// foreign makes it a store that attempts nothing of a call that holds a poisoned
	// request.
	foreign bool

	mu    sync.Mutex
	calls [][]store.Request
}

var errPoison = errors.New("this value is not accepted")

func poisoned(r *store.Request) bool {
	return len(r.Events) > 0 && strings.Contains(string(r.Events[0].Payload), "poison")
}

func (g *gathered) OpenStore(context.Context) (store.Store, func() error, error) {
	s := store.Of(g.db)
	s.Log = gatheredLog{g.db, g}
	s, err := store.Stack(s, coalesce.New(&g.o))
	return s, func() error { return nil }, err
}

type gatheredLog struct {
	*memstore.DB
	g *gathered
}

func (l gatheredLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	l.g.mu.Lock()
	l.g.calls = append(l.g.calls, slices.Clone(reqs))
	l.g.mu.Unlock()
	if l.g.hold != nil {
		l.g.hold.pass()
	}
	if l.g.slow > 0 {
		<-time.After(l.g.slow)
	}
	if l.g.foreign && slices.ContainsFunc(reqs, func(r store.Request) bool { return poisoned(&r) }) {
		return nil, errPoison
	}
	return l.DB.Commit(ctx, reqs...)
}

// of returns the calls that held a request about an execution for which is holds.
func (g *gathered) of(id string, is func(*store.Request) bool) (out [][]store.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.calls {
		if slices.ContainsFunc(c, func(r store.Request) bool { return string(r.Execution) == id && is(&r) }) {
			out = append(out, c)
		}
	}
	return out
}

func isStart(r *store.Request) bool { return !r.Expect.Exists() }

// beside starts an execution beside the test, and sees it wait in the line.
func beside[In, Out any](t *testing.T, f *loom.Flow[In, Out], rt *loom.Runtime, in In, id string) func() (*loom.Run[Out], error) {
	t.Helper()
	var run *loom.Run[Out]
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		run, err = f.Start(context.Background(), rt, in, loom.ID(id))
	}()
	synctest.Wait()
	return func() (*loom.Run[Out], error) {
		<-done
		return run, err
	}
}

// claim B-21: a fresh start shares a flush with a real duplicate. The duplicate is told;
// the fresh one starts as if it had been alone, with one commit and no retry.
func TestAFreshStartSharesAFlushWithADuplicate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		g := &gathered{db: memstore.New(nil), hold: &gate{}}
		heard := &hears{}
		rt := open(t, g, loom.Flows(flow), heard.hooks())
		yields(t, begin(t, flow, rt, 0, loom.ID("d")), "done")
		synctest.Wait() // hooks are told beside
		was := logOf(t, g.db, "d")
		heardOfD := heard.all("d")

		g.hold.close()
		t.Cleanup(g.hold.open)
		first := beside(t, flow, rt, 0, "first")
		until(t, "a flush is on its way", func() bool { return g.hold.waiting() == 1 })
		duplicate, fresh := beside(t, flow, rt, 0, "d"), beside(t, flow, rt, 0, "f")
		g.hold.open()
		other, err := first()
		if err != nil {
			t.Fatal(err)
		}
		var exists *loom.ExecutionAlreadyExistsError
		if run, err := duplicate(); run != nil || !errors.As(err, &exists) || exists.ID != "d" {
			t.Errorf("the duplicate: %v", err)
		}
		run, err := fresh()
		if err != nil {
			t.Fatalf("the fresh start: %v", err)
		}
		yields(t, run, "done")
		yields(t, other, "done")
		synctest.Wait() // hooks are told beside
		starts := g.of("f", isStart)
		if len(starts) != 1 || !slices.ContainsFunc(starts[0], func(r store.Request) bool { return r.Execution == "d" }) {
			t.Errorf("the start of f was in %d calls, or not beside that of d", len(starts))
		}
		bodies.is(t, "bodies", 3)
		if n := calls.count("x"); n != 6 {
			t.Errorf("%d calls of effects", n)
		}
		log := logOf(t, g.db, "f")
		if seen := heard.seen("f"); !slices.EqualFunc(seen, log, event.Envelope.Equal) {
			t.Errorf("of f was told %s, its log is %s", kinds(seen), kinds(log))
		}
		if !slices.Equal(heard.all("d"), heardOfD) || !slices.EqualFunc(logOf(t, g.db, "d"), was, event.Envelope.Equal) {
			t.Errorf("the duplicate left something: %v", heard.all("d"))
		}
	})
}

// claim B-36: only who chose an id waits: for the linger and one latency of the store.
func TestOnlyAChosenIDWaitsForTheLinger(t *testing.T) {
	const linger, latency = 50 * time.Millisecond, 7 * time.Millisecond
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("nothing", func(loom.Context, int) (string, error) { return "done", nil })
		g := &gathered{db: memstore.New(nil), o: coalesce.Options{MaxLinger: linger}, slow: latency}
		rt := open(t, g, loom.Flows(flow))
		began := time.Now()
		run := begin(t, flow, rt, 0, loom.ID("chosen"))
		if took := time.Since(began); took != linger+latency {
			t.Errorf("the start with a chosen id returned after %v", took)
		}
		yields(t, run, "done")
		began = time.Now()
		run = begin(t, flow, rt, 0)
		if took := time.Since(began); took != 0 {
			t.Errorf("the start with a minted id returned after %v", took)
		}
		yields(t, run, "done")
	})
}

// claim H-06, claim B-63, claim B-64: of 64 executions that commit in one flush, g are guilty. No
// innocent one is aborted, repeats an effect or hears of a storage error.
func TestNoInnocentRunIsAborted(t *testing.T) {
	const n = 64
	for _, g := range []int{1, 2, 63, 64} {
		guilty := map[int]bool{}
		for r := rand.New(rand.NewPCG(uint64(g), 3)); len(guilty) < g; {
			guilty[r.IntN(n)] = true
		}
		t.Run(fmt.Sprintf("duplicate/%d", g), func(t *testing.T) {
			bubble(t, func(t *testing.T) { crowdOfStarts(t, n, guilty, false) })
		})
		t.Run(fmt.Sprintf("data error/%d", g), func(t *testing.T) {
			bubble(t, func(t *testing.T) { crowdOfStarts(t, n, guilty, true) })
		})
		t.Run(fmt.Sprintf("stale/%d", g), func(t *testing.T) {
			bubble(t, func(t *testing.T) { crowdOfResults(t, n, guilty) })
		})
	}
}

// paid is a flow with one effect; what it is given stands in its sequence 0.
func paid(calls *service, until *gate) *loom.Flow[string, string] {
	return loom.NewFlow("paid", func(ctx loom.Context, _ string) (string, error) {
		return loom.Do(ctx, "pay", func(ctx context.Context) (string, error) {
			id, _, _ := loom.StepOf(ctx)
			calls.call(id)
			until.pass()
			return "done", nil
		})
	})
}

// crowdOfStarts starts n executions in one flush, of which the guilty exist already or
// are of a kind that the store does not accept.
func crowdOfStarts(t *testing.T, n int, guilty map[int]bool, foreign bool) {
	var calls service
	flow := paid(&calls, &gate{})
	g := &gathered{db: memstore.New(nil), hold: &gate{}, foreign: foreign}
	heard := &hears{}
	rt := open(t, g, loom.Flows(flow), heard.hooks())
	id := func(i int) string { return fmt.Sprint("x", i) }
	for i := range n {
		if guilty[i] && !foreign {
			yields(t, begin(t, flow, rt, "", loom.ID(id(i))), "done")
		}
	}
	g.hold.close()
	t.Cleanup(g.hold.open)
	before := g.hold.waiting()
	first := beside(t, flow, rt, "", "first")
	until(t, "a flush is on its way", func() bool { return g.hold.waiting() == before+1 })
	started := make([]func() (*loom.Run[string], error), n)
	for i := range n {
		in := ""
		if guilty[i] && foreign {
			in = "poison"
		}
		started[i] = beside(t, flow, rt, in, id(i))
	}
	g.hold.open()
	if _, err := first(); err != nil {
		t.Fatal(err)
	}
	acks := 0
	for i := range n {
		run, err := started[i]()
		var exists *loom.ExecutionAlreadyExistsError
		var failed *loom.StorageWriteError
		switch {
		case !guilty[i] && err == nil:
			acks++
			yields(t, run, "done")
			innocent(t, heard, &calls, id(i))
		case guilty[i] && foreign && errors.As(err, &failed) && failed.Definite && errors.Is(err, errPoison):
		case guilty[i] && !foreign && errors.As(err, &exists):
		default:
			t.Errorf("start %d, guilty %v: %v", i, guilty[i], err)
		}
	}
	if acks != n-len(guilty) {
		t.Errorf("%d started", acks)
	}
	if c := g.of(id(0), isStart); !slices.ContainsFunc(c, func(reqs []store.Request) bool { return len(reqs) >= n }) {
		t.Errorf("the %d starts were in no one call", n)
	}
}

// innocent checks that an execution ended as if it had been alone.
func innocent(t *testing.T, heard *hears, calls *service, id string) {
	t.Helper()
	synctest.Wait() // hooks are told beside
	for _, what := range heard.all(id) {
		if strings.HasPrefix(what, "aborted") || what == "storage-error" || what == "warn" {
			t.Errorf("%s, which is innocent, was told: %q", id, heard.all(id))
		}
	}
	if n := calls.count(id); n != 1 {
		t.Errorf("%s paid %d times", id, n)
	}
}

// crowdOfResults has n executions whose results are in one flush, after the guilty were
// taken from their runner by force.
func crowdOfResults(t *testing.T, n int, guilty map[int]bool) {
	var calls service
	effects := shutGate(t)
	flow := paid(&calls, effects)
	g := &gathered{db: memstore.New(nil), hold: &gate{}}
	heard := &hears{}
	rt := open(t, g, loom.Flows(flow), heard.hooks(), calm)
	id := func(i int) string { return fmt.Sprint("x", i) }
	runs := make([]*loom.Run[string], n)
	for i := range n {
		runs[i] = begin(t, flow, rt, "", loom.ID(id(i)))
	}
	until(t, "all effects are called", func() bool { return effects.waiting() == n })
	for i := range n {
		if !guilty[i] {
			continue
		}
		req := store.Request{Execution: event.ExecutionID(id(i)), Nonce: store.Nonce{1, byte(i)}, Expect: headOf(t, g.db, id(i)).Tip,
			Claim: &store.Claim{When: store.AnyOwner}, Release: &store.Release{WakeAt: event.Never}}
		if res, err := g.db.Commit(t.Context(), req); err != nil || res[0].Outcome != store.Committed {
			t.Fatalf("taking %s: %+v, %v", id(i), res, err)
		}
	}
	g.hold.close()
	t.Cleanup(g.hold.open)
	before := g.hold.waiting()
	started := beside(t, flow, rt, "", "first")
	until(t, "a flush is on its way", func() bool { return g.hold.waiting() == before+1 })
	effects.open()
	synctest.Wait()
	g.hold.open()
	if _, err := started(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if !guilty[i] {
			yields(t, runs[i], "done")
			innocent(t, heard, &calls, id(i))
			continue
		}
		until(t, "the superseded runner lets go", func() bool {
			return slices.ContainsFunc(heard.all(id(i)), func(s string) bool { return strings.HasPrefix(s, "aborted") })
		})
		if log := logOf(t, g.db, id(i)); log[len(log)-1].Kind != event.KindEffectScheduled {
			t.Errorf("%s was written after it was taken: %s", id(i), kinds(log))
		}
	}
	results := func(r *store.Request) bool {
		return len(r.Events) > 0 && r.Events[0].Kind == event.KindEffectCompleted
	}
	for i := range n {
		if c := g.of(id(i), results); len(c) != 1 || len(c[0]) < n {
			t.Errorf("the result of %s was in %d calls", id(i), len(c))
		}
	}
}
