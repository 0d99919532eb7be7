package loom

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// Runtime is a node: it drives executions of its flows over one store, together
// with every other node on that store. Make one with [Open].
type Runtime struct {
	world rt.Runtime
	stage rt.Stage // nil but in the tests of flows
	st    store.Store
	shut  func() error // closes the store
	log   *slog.Logger
	hooks Hooks
	tune  Tuning
	flows map[store.FlowVersion]AnyFlow // looked up, never walked
	known []store.FlowVersion           // the same, in the order of registration
	names []string                      // their texts
	node  *node

	ctx     context.Context // ends when the runtime closes
	cancel  context.CancelCauseFunc
	scan    rt.Signal    // wakes the scanner
	again   rt.Signal    // wakes reconcile
	backlog atomic.Int64 // bytes of all runs that are not durable
	deaf    atomic.Bool  // OnWarn and OnStorageError are not called any more
	drained rt.Latch     // opens when, after closing, no run and no request is left
	idle    rt.Latch     // opens when, after that, the background fibers have ended

	mu struct {
		sync.Mutex // never held while waiting
		closing    bool
		live       map[event.ExecutionID]*run
		busy       map[event.ExecutionID]int // starts, claims and posts in flight
		skip       map[event.ExecutionID]skipped
		watchers   map[event.ExecutionID][]rt.Signal
		telling    map[event.ExecutionID]*hookQueue // the last one of each
		loops      int                              // background fibers
	}
}

// skipped is an execution that this node does not look at again until its tip
// moves.
type skipped struct {
	tip store.Tip
	why error
}

// Open opens the source's store and returns a runtime over it, which at once
// begins to drive what its flows have left to do: recovery is on. The caller ends
// it with [Runtime.Close].
//
// Errors: those of opening the store; a [*store.MissingError], which matches
// errors.ErrUnsupported, if the store lacks a part that a node needs; an option's.
func Open(ctx context.Context, src store.Source, opts ...Option) (*Runtime, error) {
	r := &Runtime{world: rt.From(ctx), log: slog.New(slog.DiscardHandler), flows: map[store.FlowVersion]AnyFlow{}}
	r.mu.live = map[event.ExecutionID]*run{}
	r.mu.busy = map[event.ExecutionID]int{}
	r.mu.skip = map[event.ExecutionID]skipped{}
	r.mu.watchers = map[event.ExecutionID][]rt.Signal{}
	r.mu.telling = map[event.ExecutionID]*hookQueue{}
	r.stage, _ = r.world.(rt.Stage)
	for _, o := range opts {
		if err := o.apply(r); err != nil {
			return nil, err
		}
	}
	if err := r.tune.validate(); err != nil {
		return nil, err
	}
	st, shut, err := src.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	r.st, r.shut = st, shut
	if err := st.Require(store.PartLog, store.PartIndex, store.PartInbox, store.PartLeaser); err != nil {
		return nil, errors.Join(err, shut())
	}
	r.scan, r.again = r.world.NewSignal(), r.world.NewSignal()
	r.drained, r.idle = r.world.NewLatch(), r.world.NewLatch()
	r.ctx, r.cancel = r.world.WithCancel(rt.With(context.WithoutCancel(ctx), r.world))
	r.node = newNode(r)
	if !r.tune.ClientOnly {
		if err := r.node.renew(ctx); err != nil {
			return nil, errors.Join(err, shut())
		}
		r.loop("lease", r.node.keep)
		r.loop("scan", r.scanLoop)
		r.loop("reconcile", r.reconcileLoop)
		if r.stage == nil {
			r.loop("watch", r.watchLoop)
		}
	} else {
		// No lease tells the store's time, and this machine's clock may be ahead of it.
		sent := r.world.Mono()
		_, _, now, err := st.Index.Runnable(ctx, store.Demand{Limit: 1})
		if err != nil {
			return nil, errors.Join(err, shut())
		}
		if !sabotage.On("clock-ahead") {
			r.node.saw(now, sent)
		}
	}
	if st.Hints != nil {
		r.loop("hints", r.hintLoop)
	}
	return r, nil
}

// loop runs a background fiber that ends with r.ctx.
func (r *Runtime) loop(name string, fn func()) {
	r.mu.Lock()
	r.mu.loops++
	r.mu.Unlock()
	r.world.Go(name, func() {
		defer r.left(func() { r.mu.loops-- })
		fn()
	})
}

// left takes something off the books of Close.
func (r *Runtime) left(change func()) {
	r.mu.Lock()
	change()
	drained := r.mu.closing && len(r.mu.live) == 0 && len(r.mu.busy) == 0
	idle := drained && r.mu.loops == 0
	r.mu.Unlock()
	if drained {
		r.drained.Open()
	}
	if idle {
		r.idle.Open()
	}
}

// Close lets every execution go, so that another node, or the next start of this
// program, goes on with it at once, and closes the store. Effects that run have
// their context ended and [Tuning.CloseGrace] to return; what they return is
// recorded, an error of theirs is not. A second Close returns [ErrClosed].
func (r *Runtime) Close() error {
	r.mu.Lock()
	if r.mu.closing {
		r.mu.Unlock()
		return ErrClosed
	}
	r.mu.closing = true
	runs := r.liveRuns()
	r.mu.Unlock()
	for _, run := range runs {
		run.stop()
	}
	r.wakeWatchers()
	r.left(func() {})
	_ = r.drained.Wait(forever) // runs and requests still need the store
	r.cancel(ErrClosed)
	_ = r.idle.Wait(forever)
	var err error
	if !r.tune.ClientOnly {
		err = r.st.Leaser.Leave(context.Background(), r.node.id)
	}
	err = errors.Join(err, r.shut())
	if w, ok := r.world.(interface{ Close() }); ok {
		w.Close()
	}
	return err
}

// liveRuns returns the runs of this node by id. The caller holds the lock.
func (r *Runtime) liveRuns() []*run {
	out := make([]*run, 0, len(r.mu.live))
	for _, x := range r.mu.live { // order does not matter: sorted below
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *run) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return out
}

// mint returns a new ULID.
func (r *Runtime) mint() string { return r.mintAt(r.node.now()) }

func (r *Runtime) nonce() (n store.Nonce) {
	for n.IsZero() {
		r.world.Random(n[:])
	}
	return n
}
