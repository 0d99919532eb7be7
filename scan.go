package loom

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// claimBatch is how many executions one look at the store takes over.
const claimBatch = 64

// scanLoop looks for executions that nobody drives: due to wake, or left by a node
// that is dead. It sleeps until the next of them is due, a local park or start says
// so, or [Tuning.Scan] has passed.
func (r *Runtime) scanLoop() {
	next := event.Time(0) // the first look is at once
	for {
		wait := r.tune.Scan
		if next != event.Never {
			wait = min(wait, r.node.until(next))
		}
		if len(r.known) == 0 {
			wait = time.Hour
		}
		if r.waitFor(r.ctx, r.scan, wait) != nil || r.closing() {
			return
		}
		if _, held := r.node.holds(); !held || len(r.known) == 0 {
			next = event.Never
			continue
		}
		next = r.scanOnce()
	}
}

func (r *Runtime) closing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.closing
}

// scanOnce claims what is runnable and returns when to look again.
func (r *Runtime) scanOnce() (next event.Time) {
	limit := claimBatch + r.skipping()
	sent := r.world.Mono()
	heads, next, now, err := r.st.Index.Runnable(r.ctx, store.Demand{Flows: r.known, Limit: limit})
	if err != nil {
		r.log.Warn("loom: scan failed", "err", err)
		return event.Never
	}
	r.node.saw(now, sent)
	if r.claimAll(heads) > 0 && len(heads) == limit {
		return 0 // there may be more
	}
	return next
}

// claimAll claims what this node may claim of heads, side by side, so that the
// claims share the store's commits, and returns how many it got.
func (r *Runtime) claimAll(heads []store.Head) int {
	var left, claimed atomic.Int64
	all := r.world.NewLatch()
	left.Store(1)
	done := func() {
		if left.Add(-1) == 0 {
			all.Open()
		}
	}
	for _, h := range heads {
		if r.skips(h) {
			continue
		}
		left.Add(1)
		r.world.Go("claim", func() {
			defer done()
			if r.claim(h) {
				claimed.Add(1)
			}
		})
	}
	done()
	_ = all.Wait(forever)
	return int(claimed.Load())
}

// wakeScanAt makes the scanner look at an instant of the node's clock.
func (r *Runtime) wakeScanAt(at event.Time) {
	if at == event.Never {
		return
	}
	if d := r.node.until(at); d > r.tune.Scan {
		return // it will look before, and then knows the next wake-up itself
	} else if d > 0 {
		r.world.After(d, r.scan.Wake)
		return
	}
	r.scan.Wake()
}

// skipUntilMoved keeps this node from looking at an execution again before its tip
// is another than tip.
func (r *Runtime) skipUntilMoved(id event.ExecutionID, tip store.Tip, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.skip[id] = skipped{tip: tip, why: why}
}

func (r *Runtime) skipping() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.skip)
}

// skips reports whether a head row is one that this node has given up on, is busy
// with, or drives.
func (r *Runtime) skips(h store.Head) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closing || r.mu.live[h.Execution] != nil || r.mu.busy[h.Execution] > 0 && !sabotage.On("busy-forgotten") {
		return true
	}
	s, ok := r.mu.skip[h.Execution]
	if !ok {
		return false
	}
	if s.tip.Head == h.Tip.Head && s.tip.Anchor == h.Tip.Anchor {
		return true
	}
	delete(r.mu.skip, h.Execution)
	return false
}

// claim takes an execution over and drives it; false if somebody else was first, or
// this build cannot read it.
func (r *Runtime) claim(h store.Head) bool {
	done, ok := r.begin(h.Execution)
	if !ok {
		return false
	}
	defer done()
	when := store.Unowned
	switch {
	case h.Owner == r.node.id:
		when = store.Mine
	case h.Owner != "":
		when = store.Lapsed
	}
	f, known := r.flows[h.Index.Needs()]
	if !known {
		return false
	}
	// Read before the claim: what cannot be decoded is left alone.
	log, seed, err := r.readable(h)
	if err != nil {
		return false
	}
	req := &store.Request{Execution: h.Execution, Nonce: r.nonce(), Expect: h.Tip,
		Claim: &store.Claim{Owner: r.node.id, When: when}}
	lapse, _ := r.node.holds()
	res, err := r.sendClaim(req)
	if err != nil || res.Outcome != store.Committed {
		return false
	}
	x := r.newRun(h.Execution, f, seed)
	x.j = kernel.NewJournal(h.Execution, r.node.id, res.Tip)
	x.m.SetMeta(fenceMeta(res.Tip.Fence))
	x.log = log
	x.born0(log[0].Envelope)
	x.clean = h.Owner == "" && h.WakeAt > 0
	x.mailKnown = res.Mail
	x.owned.Store(lapse)
	x.opened() // what is claimed is durable
	if !r.register(x) {
		x.letGo(0) // closing: another node goes on at once
		return false
	}
	r.world.Go("run", x.drive)
	r.tell(h.Execution)
	return true
}

// maxRoom is for how many events room is made before they are read.
const maxRoom = 1 << 17

// readable reads a log and checks that it folds. One that does not is quarantined:
// this node looks at it again when its tip moves.
func (r *Runtime) readable(h store.Head) (log []kernel.Recorded, seed string, err error) {
	s := fold.New()
	room := int(min(h.Tip.Head, maxRoom)) // what a head row says is checked below
	s.Grow(room / 2)                      // an operation is two events and more
	log = make([]kernel.Recorded, 0, room+1)
	for e, err := range r.st.Log.Read(r.ctx, h.Execution, store.Range{Strong: true}) {
		if err != nil {
			r.log.Warn("loom: log not read", "execution", string(h.Execution), "err", err)
			return nil, "", err
		}
		p, err := e.Decode()
		if err == nil {
			err = s.Apply(e, p)
		}
		if err != nil {
			return nil, "", r.quarantine(h, err)
		}
		log = append(log, kernel.Recorded{Envelope: e, Payload: p})
	}
	if s.Head != h.Tip.Head {
		return nil, "", errMovedOn
	}
	if s.Flow != h.Index.Flow || s.Version != h.Index.Version || s.Status.Terminal() {
		return nil, "", r.quarantine(h, errors.New("loom: the head row does not fit the log"))
	}
	return log, s.Seed, nil
}

var errMovedOn = errors.New("loom: the log moved on while it was read")

func (r *Runtime) quarantine(h store.Head, why error) error {
	r.skipUntilMoved(h.Execution, h.Tip, why)
	r.warn(h.Execution, why)
	return why
}

// sendClaim sends a claim, again while its outcome is unknown.
func (r *Runtime) sendClaim(req *store.Request) (store.Result, error) {
	wait := 2 * time.Millisecond
	for {
		res, err := r.commitOne(r.ctx, req)
		if err != nil || res.Outcome != store.Unknown {
			return res, err
		}
		if _, held := r.node.holds(); !held {
			return res, res.Err // reconcile finds it, if it was committed
		}
		if err := r.sleep(wait); err != nil {
			return res, err
		}
		wait = min(2*wait, time.Second)
	}
}
