package loomtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/internal/sim"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// Patience is how long the world may stand still in real time, because somebody computes,
// does I/O, or waits for what cannot come.
const Patience = 30 * time.Second

// Horizon is how far virtual time may go in one test.
const Horizon = 10 * 365 * 24 * time.Hour

// maxSteps is how often the turn may go round in one test.
const maxSteps = 20_000_000

// seedVar names the variable that repeats one run of a test.
const seedVar = "LOOMTEST_SEED"

// Run runs a test's function in a new world. It returns when fn has, and what was open is
// closed; if fn failed with t.FailNow, so does Run. The order is that of seed 1, or of the
// variable LOOMTEST_SEED.
func Run(t testing.TB, fn func(e *Env)) {
	t.Helper()
	seed, set := fixedSeed(t)
	if !set {
		seed = 1
	}
	run(t, seed, fn, nil)
}

// fixedSeed returns the seed of LOOMTEST_SEED, if it is set.
func fixedSeed(t testing.TB) (seed uint64, set bool) {
	t.Helper()
	text := os.Getenv(seedVar)
	if text == "" {
		return 0, false
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatalf("loomtest: %s=%s is no number", seedVar, text)
	}
	return seed, true
}

// limits of a run; nil for those above.
type limits struct {
	patience, horizon time.Duration
	quiet             bool // failures are returned and not reported
}

// run runs fn in a world of its own and reports how that failed. What it returns is for
// who asked for quiet.
func run(t testing.TB, seed uint64, fn func(e *Env), l *limits) error {
	t.Helper()
	if l == nil {
		l = &limits{}
	}
	e := &Env{t: t, seed: seed, tasks: map[int64]*task{}, steps: map[string]*Step{}, calls: map[callKey]int{}, diverged: map[string]error{}}
	var stuck atomic.Pointer[string]
	e.w = sim.New(seed, &sim.Options{MaxSteps: maxSteps, Horizon: or(l.horizon, Horizon), Patience: or(l.patience, Patience),
		Gone: e.gone, Stuck: func(stacks string) { stuck.Store(&stacks) }})
	e.db = memstore.New(&memstore.Options{Now: e.w.StoreNow})
	e.backend, e.history = store.Of(e.db), sim.NewHistory(e.w)

	var failed error
	left := newLabel()
	pprof.Do(context.Background(), left.labels(), func(context.Context) {
		failed = e.w.Run(func() { e.main(fn) })
	})
	switch text := stuck.Load(); {
	case text != nil && isForeign(*text):
		failed = errors.New(*text)
	case text != nil:
		failed = fmt.Errorf("somebody has held the world, and waits for what only another turn can bring, %s", *text)
	case e.aborted && t.Skipped():
		t.SkipNow()
	case e.aborted:
		t.Logf("%s", repeat(t, seed))
		t.FailNow()
	case failed != nil:
		failed = e.explain(failed)
	default:
		failed = left.check()
	}
	if failed != nil && !l.quiet {
		t.Fatalf("loomtest: %v\n%s", failed, repeat(t, seed))
	}
	return failed
}

func or(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// main is the world's main function: it runs the test's, and closes what is open.
func (e *Env) main(fn func(e *Env)) {
	out := e.w.Outside()
	e.ctx, e.end = out.WithCancel(context.Background())
	test := e.begin("the test", func() { fn(e) })
	_ = test.done.Wait(context.Background())
	if e.aborted {
		e.w.Fail("the test has ended itself")
		return
	}
	for _, n := range e.nodes {
		if n.sim.Dead() {
			continue
		}
		if err := n.rt.Close(); err != nil && !errors.Is(err, loom.ErrClosed) {
			e.t.Errorf("loomtest: closing %s: %v", n.sim.Name(), err)
		}
		n.sim.Crash() // a closed runtime may leave a timer
	}
	e.end(errOver)
	for _, stop := range e.stop {
		stop()
	}
	for _, k := range e.begun {
		for range 1000 { // its context has just ended
			if k.done.Opened() {
				break
			}
			out.Yield()
		}
		if !k.done.Opened() {
			e.t.Errorf("loomtest: the function of Env.Go(%q) has not returned", k.name)
			e.aborted = true
			e.w.Fail("left over")
			return
		}
	}
	for _, s := range e.order {
		s.check()
	}
}

// repeat is how this run is run again.
func repeat(t testing.TB, seed uint64) string {
	return fmt.Sprintf("this run again: %s=%d go test -run '%s'", seedVar, seed, pattern(t.Name()))
}
