package loom

import (
	"context"
	"sync"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// node is this process among the nodes of a store: its id, its lease, and its
// clock, which is a lower bound of the store's.
type node struct {
	r  *Runtime
	id store.NodeID

	mu struct {
		sync.Mutex
		storeTime event.Time    // last seen
		at        time.Duration // Mono when it arrived
		bound     time.Duration // Mono until which this node trusts its lease
		wallBound time.Time     // the same by the wall clock: Mono stands still in a suspended machine
		lapses    uint64        // how often the bound passed before a renewal
	}
}

func newNode(r *Runtime) *node {
	n := &node{r: r}
	n.mu.storeTime, n.mu.at = event.At(r.world.Wall()), r.world.Mono()
	n.id = store.NodeID(r.mintAt(n.mu.storeTime))
	return n
}

// now returns the node's clock: the last store time seen plus the time since, less
// one part in slack, because this machine's clock may be the faster one. Nothing
// timed by it is early by the store's clock.
func (n *node) now() event.Time {
	if sabotage.On("wall-timers") {
		return event.At(n.r.world.Wall())
	}
	mono := n.r.world.Mono()
	n.mu.Lock()
	defer n.mu.Unlock()
	since := mono - n.mu.at
	return n.mu.storeTime.Add((since - since/slack).Truncate(time.Microsecond))
}

// slack is one over how much faster than the store's a node's clock may run: about
// a thousand parts in a million. Clocks that a daemon disciplines stay below 500.
const slack = 1024

// saw takes a store time from an answer that has just arrived.
func (n *node) saw(t event.Time) {
	if t == 0 {
		return
	}
	mono := n.r.world.Mono()
	n.mu.Lock()
	n.mu.storeTime, n.mu.at = t, mono
	n.mu.Unlock()
}

// until returns how long to wait for the store's clock to reach t.
func (n *node) until(t event.Time) time.Duration {
	if t == event.Never {
		return time.Duration(1<<63 - 1)
	}
	d := max(t.Sub(n.now()), 0)
	return d + d/(slack-1)
}

// holds reports whether the lease can be trusted now, and under which lapse: a
// run that was verified under another must look at the store before it calls an
// effect.
func (n *node) holds() (lapse uint64, ok bool) {
	mono, wall := n.r.world.Mono(), n.r.world.Wall()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.lapses, mono <= n.mu.bound && !wall.After(n.mu.wallBound)
}

// renew renews the lease once.
func (n *node) renew(ctx context.Context) error {
	sent, wall := n.r.world.Mono(), n.r.world.Wall()
	limit := n.r.tune.Lease / 3
	ctx, cancel := n.r.world.WithCancel(ctx)
	stop := n.r.world.After(limit, func() { cancel(context.DeadlineExceeded) })
	l, err := n.r.st.Leaser.Renew(ctx, n.id, n.r.tune.Lease, n.r.names)
	stop()
	cancel(nil)
	if err != nil {
		return err
	}
	n.saw(l.Now)
	_, held := n.holds()
	n.mu.Lock()
	if !held {
		n.mu.lapses++
	}
	n.mu.bound, n.mu.wallBound = sent+n.r.tune.Lease/2, wall.Add(n.r.tune.Lease/2)
	n.mu.Unlock()
	if !held {
		n.r.wakeAll()
	}
	return nil
}

// keep renews the lease until the runtime closes.
func (n *node) keep() {
	wait := n.r.tune.Lease / 3
	for n.r.sleep(wait) == nil {
		if err := n.renew(n.r.ctx); err != nil {
			if n.r.ctx.Err() != nil {
				return
			}
			n.r.log.Warn("loom: lease not renewed", "node", n.id, "err", err)
			wait = n.r.tune.Lease / 12
			continue
		}
		wait = n.r.tune.Lease / 3
	}
}
