package loom

import (
	"context"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// armNext sets the timer for what is due next.
func (x *run) armNext() {
	if x.m.Ended() && !sabotage.On("end-keeps-timer") || x.sending && x.behind() {
		x.arm(event.Never) // an answer is on its way, and nothing is done before it
		return
	}
	at := x.dueAt()
	if x.pausing != nil {
		at = event.Never // nothing is done about it
	}
	if x.mailAgain != 0 {
		at = min(at, x.mailAgain)
	}
	if x.idleSince != 0 {
		if park := x.idleSince.Add(x.rt.tune.Unload); park > x.rt.node.now() {
			at = min(at, park)
		}
	}
	if x.lookAgain != 0 {
		at = min(at, x.lookAgain)
	}
	if x.lazyUntil != 0 && !x.sending {
		at = min(at, x.lazyUntil)
	}
	if x.stopBy != 0 {
		at = min(at, x.stopBy)
	}
	x.arm(at)
}

// forever is a context that does not end.
var forever = context.Background()

// arm sets the timer that wakes the driver at an instant of the node's clock.
func (x *run) arm(at event.Time) {
	if x.fired.Swap(false) {
		x.armed = event.Never
	}
	if at == x.armed {
		return
	}
	if x.timer != nil {
		x.timer()
		x.timer = nil
	}
	x.armed = at
	if at == event.Never {
		return
	}
	x.timer = x.rt.world.After(x.rt.node.until(at), func() {
		x.fired.Store(true)
		x.takeAndDrive()
	})
}

// dueAt returns when the execution must be looked at again if nobody sends it
// anything: its earliest deadline.
func (x *run) dueAt() event.Time {
	at := x.m.NextDue()
	if d := x.m.State().Deadline; d != 0 && x.m.State().Cancel == nil {
		at = min(at, d)
	}
	return at
}

// quiet reports whether nothing is under way but waiting; awaits as in
// [kernel.Machine.Waits].
func (x *run) quiet() (quiet, awaits bool) {
	if x.m.Continuing() || x.calling > 0 || len(x.calls) > 0 || x.sending || x.j.Seen() < x.mailKnown || x.mailAgain != 0 || x.nudged() {
		return false, false
	}
	return x.m.Waits()
}

// ride returns the release that goes with the commit of what is queued, nil for
// none: a body that only sleeps, and for long, is let go by the commit that records
// its sleep, so that sleeping costs no commit of its own.
func (x *run) ride() *store.Release {
	quiet, awaits := x.quiet()
	at := x.dueAt()
	if !quiet || awaits || x.pausing != nil || at == event.Never || x.stopping() || at < x.rt.node.now().Add(x.rt.tune.Unload) {
		return nil
	}
	return &store.Release{WakeAt: at}
}

// mayPark reports whether the body has waited long enough to be let go.
func (x *run) mayPark() bool {
	quiet, _ := x.quiet()
	if !quiet {
		x.idleSince = 0
		return false
	}
	now := x.rt.node.now()
	if x.idleSince == 0 {
		x.idleSince = now
	}
	soon := now.Add(x.rt.tune.Unload)
	return x.idleSince.Add(x.rt.tune.Unload) <= now && x.dueAt() > soon
}

// handOver lets a stopping run go once its effects have returned, or their time is
// up; true if the run is over.
func (x *run) handOver() bool {
	if x.sending {
		return false // its answer comes first
	}
	if x.calling > 0 {
		now := x.rt.node.now()
		if x.stopBy == 0 {
			x.stopBy = now.Add(x.rt.tune.CloseGrace)
			x.endEffects(ErrClosed)
		}
		if now < x.stopBy {
			return false
		}
	}
	x.gather(false)
	at := x.dueAt()
	if waits, _ := x.m.Waits(); !waits || x.calling > 0 || len(x.calls) > 0 || x.j.Seen() < x.mailKnown {
		at = 0
	}
	x.letGo(at)
	return true
}

// nudged reports whether mail may have come since the inbox was read.
func (x *run) nudged() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.nudged
}

// letGo commits what is queued together with a release, and returns the tip that
// the execution was left at.
func (x *run) letGo(at event.Time) store.Tip { return x.letGoAs(at, store.StateKeep) }

// letGoAs does the same and leaves the execution in a state.
func (x *run) letGoAs(at event.Time, state store.State) store.Tip {
	for {
		if sabotage.On("park-forgets-deadline") {
			at = event.Never
		}
		req, last := x.j.Next(x.rt.nonce(), &store.Release{WakeAt: at}, state)
		a := x.transmit(req)
		if !x.settle(&a) {
			return x.j.Tip()
		}
		if last {
			x.parked(at)
			return x.j.Tip()
		}
	}
}

// parked notes that the store has the execution now.
func (x *run) parked(at event.Time) {
	x.dead.Store(true)
	if x.j.Seen() < x.mailKnown {
		at = 0 // the store has made the wake-up now, for the mail's sake
	}
	x.rt.wakeScanAt(at)
}
