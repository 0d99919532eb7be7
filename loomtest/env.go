package loomtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sim"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// Env is the world of one test: its time, its store, its nodes. Its methods are called by
// the test's function, by those of [Env.Go] and by effects, and fail the test where they
// cannot do what they say.
type Env struct {
	t       testing.TB
	seed    uint64
	w       *sim.World
	db      *memstore.DB
	backend store.Store
	history *sim.History

	ctx   context.Context
	end   context.CancelCauseFunc
	nodes []*node
	tasks map[int64]*task // by fiber
	begun []*task
	steps map[string]*Step
	order []*Step
	calls map[callKey]int
	again error // an effect was called whose result was recorded

	stop       []func() // timers of the Env's own
	lost       bool     // the fiber that runs is ended by the crash of what it called
	aborted    bool     // by t.FailNow or t.SkipNow
	mayDiverge bool
	diverged   map[string]error // by execution
}

var errOver = errors.New("loomtest: the test is over")

// Context returns a context that ends when the test's function has returned. Calls into
// runtimes are given it.
func (e *Env) Context() context.Context { return e.ctx }

// Within returns a context that ends after d of virtual time. The caller calls cancel.
func (e *Env) Within(d time.Duration) (ctx context.Context, cancel context.CancelFunc) {
	n := e.w.Here()
	ctx, end := n.WithCancel(e.ctx)
	stop := n.After(d, func() { end(context.DeadlineExceeded) })
	return ctx, func() { stop(); end(context.Canceled) }
}

// Sleep waits for d of virtual time. It may be called by effects too, and by nothing else
// of a flow.
func (e *Env) Sleep(d time.Duration) { e.w.Here().Sleep(d) }

// Now is the virtual time.
func (e *Env) Now() time.Time { return e.w.Outside().Wall() }

// Seed returns what this run's order is drawn from.
func (e *Env) Seed() uint64 { return e.seed }

// MayDiverge says that a *loom.DivergedError is no failure of the test: it tries what an
// old build does with a new one's log.
func (e *Env) MayDiverge() { e.mayDiverge = true }

// Log returns the durable log of an execution, past all nodes; nil if there is none.
func (e *Env) Log(id string) []event.Envelope {
	var log []event.Envelope
	for env, err := range e.db.Read(context.Background(), event.ExecutionID(id), store.Range{Strong: true}) {
		if err != nil {
			e.t.Errorf("loomtest: reading %s: %v", id, err)
			return nil
		}
		log = append(log, env)
	}
	return log
}

// fatal fails the test and ends the running function.
func (e *Env) fatal(format string, args ...any) {
	e.t.Helper()
	e.t.Fatalf("loomtest: "+format, args...)
}

// warned takes what a node has to tell people.
func (e *Env) warned(n *node, id string, err error) {
	var diverged *loom.DivergedError
	if !errors.As(err, &diverged) {
		e.t.Logf("loomtest: node %s warns of %s: %v", n.sim.Name(), id, err)
		return
	}
	e.diverged[id] = err
	if !e.mayDiverge {
		e.w.Fail("%v", err)
	}
}
