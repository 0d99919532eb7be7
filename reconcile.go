package loom

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// reconcileLoop compares what the store says this node owns with what it drives,
// every third of a lease and after a run that was poisoned: owner alive must mean
// driven.
func (r *Runtime) reconcileLoop() {
	for r.waitFor(r.ctx, r.again, r.tune.Lease/3) == nil && !r.closing() {
		r.reconcileOnce()
	}
}

// reconcileSoon makes reconcile look at once.
func (r *Runtime) reconcileSoon() { r.again.Wake() }

func (r *Runtime) reconcileOnce() {
	if _, held := r.node.holds(); !held || sabotage.On("no-reconcile") || sabotage.On("mark-and-reconcile") {
		return
	}
	heads, err := r.st.Index.Owned(r.ctx, r.node.id, false)
	if err != nil {
		r.log.Warn("loom: reconcile failed", "err", err)
		return
	}
	for _, h := range heads {
		if x := r.liveRun(h.Execution); x != nil && h.Mail > h.Seen {
			x.nudge() // a message that another process posted
		}
		if r.skips(h) {
			continue
		}
		// The row was read before the books were: what began or left in between is
		// on the store's side again by now.
		if now, ok, err := r.st.Index.Get(r.ctx, h.Execution); err == nil && ok && now.Owner == r.node.id && !r.skips(now) {
			r.claim(now)
		}
	}
}

// The pause between two looks on account of hints: this process's own writes give hints
// too. It is hintShare times as long as a look takes, so that a node which drives very
// many executions does not spend its time on looking.
const (
	hintPause = 20 * time.Millisecond
	hintShare = 15
)

// hintLoop wakes what may have to look when another process wrote.
func (r *Runtime) hintLoop() {
	var version int64
	for {
		v, err := r.st.Hints.Await(r.ctx, version)
		if r.ctx.Err() != nil {
			return
		}
		if err != nil {
			r.log.Warn("loom: hints failed", "err", err)
			if r.sleep(r.tune.Scan) != nil {
				return
			}
			continue
		}
		began := r.world.Mono()
		if version != 0 {
			r.hinted()
		}
		version = v
		if r.sleep(max(hintPause, hintShare*(r.world.Mono()-began))) != nil {
			return
		}
	}
}

// wakeWatchers wakes everybody who watches an execution, in an order that is the same
// every time.
func (r *Runtime) wakeWatchers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(r.mu.watchers)) {
		for _, s := range r.mu.watchers[id] {
			s.Wake()
		}
	}
}

func (r *Runtime) hinted() {
	r.wakeWatchers()
	if r.tune.ClientOnly {
		return
	}
	r.scan.Wake()
	heads, err := r.st.Index.Owned(r.ctx, r.node.id, true)
	if err != nil {
		return // the next reconcile looks again
	}
	for _, h := range heads {
		if x := r.liveRun(h.Execution); x != nil {
			x.nudge()
		}
	}
}

// fenceMeta is the metadata of events written under a token: none for token 0.
func fenceMeta(f store.Fence) []byte {
	if f <= 0 {
		return nil
	}
	return event.EncodeMeta(map[string]string{event.MetaFence: strconv.FormatInt(int64(f), 10)})
}
