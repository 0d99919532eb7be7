package loomtest

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/internal/sim"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// Lease is how long after a crash the other nodes take over what the node drove, unless
// the node was opened with a loom.Tuning that says something else.
const Lease = 15 * time.Second

// A node of an Env is told what it has to know, so that it looks around by itself only as
// often as it must to keep its idea of the store's clock within seconds: years of waiting
// cost little.
const (
	seldom = 1000 * time.Hour // a lease
	hourly = time.Hour        // a scan
)

// node is one process.
type node struct {
	e       *Env
	sim     *sim.Node
	rt      *loom.Runtime
	lease   time.Duration
	owner   store.NodeID // "" for one that drives nothing
	faults  *fault.Injector
	store   store.Store
	news    rt.Signal
	version int64 // of what other nodes wrote, from 1
	// onCommit is called when a commit is durable; nil for nothing.
	onCommit func()
}

// Open opens a runtime on a new node over the Env's store. It is closed with the test.
func (e *Env) Open(opts ...loom.Option) *loom.Runtime {
	e.t.Helper()
	n, err := e.join(opts)
	if err != nil {
		e.fatal("opening a runtime: %v", err)
	}
	return n.rt
}

// join makes a node.
func (e *Env) join(opts []loom.Option) (*node, error) {
	e.w.Here() // only who has the turn may
	n := &node{e: e, sim: e.w.Node(fmt.Sprintf("node-%d", len(e.nodes)+1)), lease: Lease, version: 1}
	link := n.sim.Connect(e.backend, e.history, fault.Rates{}, nil)
	n.faults, n.store = link.Faults, link.Store
	n.news = n.sim.NewSignal()
	n.store.Hints = hints{n}
	n.store.Leaser = leaser{n.store.Leaser, n}
	n.sim.Watch(n.wrote)
	all := []loom.Option{loom.Tuning{Lease: seldom, Scan: hourly}}
	for _, o := range opts {
		if t, ok := o.(loom.Tuning); ok {
			if t.Lease == 0 {
				t.Lease = seldom
			} else {
				n.lease = t.Lease
			}
			if t.Scan == 0 {
				t.Scan = hourly
			}
			o = t
		}
		all = append(all, o)
	}
	r, err := loom.Open(rt.With(context.Background(), stage{n.sim, n}), store.Opened(n.store), all...)
	if err != nil {
		return nil, err
	}
	n.rt = r
	e.nodes = append(e.nodes, n)
	return n, nil
}

// Crash kills the node of a runtime: what it was doing is not finished, its memory is
// gone, and [Lease] later the other nodes take over. Deferred functions of flows and
// effects that were running do run, since they share this process; what they ask of Loom
// or the Env is not done. Called by an effect of the node, Crash does not return. Nobody
// may call the runtime afterwards.
func (e *Env) Crash(r *loom.Runtime) {
	e.t.Helper()
	for _, n := range e.nodes {
		if n.rt == r {
			if n.sim.Dead() {
				e.fatal("a node can crash only once")
			}
			n.crash()
			return
		}
	}
	e.fatal("Crash of a runtime that Env.Open did not open")
}

func (n *node) crash() {
	n.e.lapseLater(n)
	n.sim.Crash()
}

// lapseLater ends the lease of a node that will not renew it.
func (e *Env) lapseLater(n *node) {
	if n.owner == "" {
		return
	}
	e.stop = append(e.stop, e.w.Outside().After(n.lease, func() {
		_ = e.db.Leave(context.Background(), n.owner) // fails only with its context
		e.tell(n)
	}))
}

// wrote is told of each await point of the node.
func (n *node) wrote(site string) {
	if site == afterCommit || site == afterPost {
		n.e.tell(n)
	}
	if site == afterCommit && n.onCommit != nil {
		n.onCommit()
	}
}

// Sites at which a node has written something.
const (
	afterCommit = "store after " + string(fault.Commit)
	afterPost   = "store after " + string(fault.Post)
)

// tell hints to the other nodes that one has written.
func (e *Env) tell(by *node) {
	for _, n := range e.nodes {
		if n != by && !n.sim.Dead() {
			n.version++
			n.news.Wake()
		}
	}
}

// hints implements store.Hints in the world's time.
type hints struct{ n *node }

func (h hints) Await(ctx context.Context, since int64) (version int64, err error) {
	for h.n.version == since {
		if err := h.n.news.Wait(ctx); err != nil {
			return 0, err
		}
	}
	return h.n.version, nil
}

// leaser learns what the node calls itself.
type leaser struct {
	store.Leaser
	n *node
}

func (l leaser) Renew(ctx context.Context, id store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	l.n.owner = id
	return l.Leaser.Renew(ctx, id, ttl, flows)
}

// stage is a node as its runtime sees it.
type stage struct {
	*sim.Node
	n *node
}

var _ rt.Stage = stage{}

// Effect implements rt.Stage.
func (s stage) Effect(ctx context.Context, c rt.EffectCall) (any, error) { return s.n.effect(ctx, c) }

// Warn implements rt.Stage.
func (s stage) Warn(id string, err error) { s.n.e.warned(s.n, id, err) }

func exit() { runtime.Goexit() }
