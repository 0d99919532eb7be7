package sim

import (
	"context"
	"time"

	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/fault"
)

// Link is a node's way to the store.
type Link struct {
	Store  store.Store
	Faults *fault.Injector
}

// Connect gives n a way to a backend that the nodes of the world share. Each call
// is one step: there is a scheduling point, and so a place to crash, before it
// and after it. What the backend answers goes into h; rates and plan, which may
// be nil, say what goes wrong on the way. Requests that are late live outside: a
// crash of n does not recall them.
func (n *Node) Connect(backend store.Store, h *History, rates fault.Rates, plan func(*fault.Call) fault.Fault) Link {
	w := n.w
	inj := fault.New(&fault.Options{
		Chooser:  w,
		Rates:    rates,
		Plan:     plan,
		MaxDelay: w.opts.MaxDelay,
		Point: func(op fault.Op, after bool) {
			site := storeBefore
			if after {
				site = storeAfter
			}
			n.enter()
			n.point(site + string(op))
			w.yield()
			n.enter()
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			if w.cur.node != n {
				return w.outside.SleepContext(ctx, d) // a late request: it is nobody's any more
			}
			return n.SleepContext(ctx, d)
		},
		Spawn: func(fn func()) { w.spawn(w.outside, "late request", fn) },
	})
	// Hints wait for the outside world; in this one, polls have to do.
	s, err := store.Stack(backend.Withhold(store.PartHints, "simulated"), h.Decorator(n.name), inj.Decorator())
	if err != nil {
		panic(err)
	}
	return Link{Store: s, Faults: inj}
}

// gather returns the link with commits gathered before anything happens to them on
// their way.
func (l Link) gather(g *Gather) Link {
	d := coalesce.New(&coalesce.Options{MaxLinger: g.Linger, MaxRequests: g.Requests, Flushers: g.Flushers})
	l.Store = d.Wrap(l.Store)
	return l
}

// Sites of the points around store calls; the operation's name follows.
const (
	storeBefore = "store before "
	storeAfter  = "store after "
)
