package loom

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// node is this process among the nodes of a store: its id, its lease, and what it
// knows of the store's clock.
type node struct {
	r  *Runtime
	id store.NodeID

	mu struct {
		sync.Mutex
		clock     clock
		bound     time.Duration // Mono until which this node trusts its lease
		wallBound time.Time     // the same by the wall clock: Mono stands still in a suspended machine
		wallFrom  time.Time     // what the wall clock showed at the renewal: if it shows less, it was set back and bounds nothing
		lapses    uint64        // how often the bound passed before a renewal
	}
}

func newNode(r *Runtime) *node {
	n := &node{r: r}
	// Until the store has spoken, its clock is taken for this machine's.
	mono, wall := r.world.Mono(), event.At(r.world.Wall())
	n.mu.clock = clock{asOf: mono}
	n.mu.clock.low = time.Duration(wall)*time.Microsecond - mono
	n.mu.clock.high = n.mu.clock.low
	n.id = store.NodeID(r.mintAt(wall))
	return n
}

// now returns the earliest that the store's clock can show: nothing that is timed by it
// is early.
func (n *node) now() event.Time {
	if sabotage.On("wall-timers") {
		return event.At(n.r.world.Wall())
	}
	earliest, _ := n.times()
	return earliest
}

// latest returns the latest that the store's clock can show: a deadline that is set from
// it is not short.
func (n *node) latest() event.Time {
	_, latest := n.times()
	return latest
}

func (n *node) times() (earliest, latest event.Time) {
	mono := n.r.world.Mono()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.clock.at(mono)
}

// saw takes a store time from the answer, which has just come, to a request that was
// sent at a Mono.
func (n *node) saw(t event.Time, sent time.Duration) {
	if t == 0 {
		return
	}
	came := n.r.world.Mono()
	n.mu.Lock()
	n.mu.clock.saw(t, sent, came)
	n.mu.Unlock()
}

// until returns how long to wait for the store's clock to reach t.
func (n *node) until(t event.Time) time.Duration {
	if t == event.Never {
		return time.Duration(1<<63 - 1)
	}
	d := max(t.Sub(n.now()), 0)
	if d >= math.MaxInt64-math.MaxInt64/slack { // further away than a Duration reaches
		return math.MaxInt64
	}
	return d + d/(slack-1)
}

// holds reports whether the lease can be trusted now, and under which lapse: a
// run that was verified under another must look at the store before it calls an
// effect.
func (n *node) holds() (lapse uint64, ok bool) {
	mono, wall := n.r.world.Mono(), n.r.world.Wall()
	n.mu.Lock()
	defer n.mu.Unlock()
	back := wall.Before(n.mu.wallFrom) && !sabotage.On("wall-set-back")
	return n.mu.lapses, mono <= n.mu.bound && !wall.After(n.mu.wallBound) && !back
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
	n.saw(l.Now, sent)
	_, held := n.holds()
	n.mu.Lock()
	if !held {
		n.mu.lapses++
	}
	n.mu.bound, n.mu.wallFrom, n.mu.wallBound = sent+n.r.tune.Lease/2, wall, wall.Add(n.r.tune.Lease/2)
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
