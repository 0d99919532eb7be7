package loom

import (
	"errors"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/sabotage"
)

// drive drives the run on the calling fiber, which has taken the driver's role (see
// [run.take]), until there is nothing to do. No fiber waits for an execution that
// waits: whoever has news for it takes the role and drives. An effect that is alone in
// being called is called on the same fiber, which then comes back with its result.
func (x *run) drive() {
	for {
		call, over := x.rounds()
		if over {
			x.leave()
			return
		}
		if call == nil || !call.callEffect() {
			return
		}
	}
}

// rounds takes what has come, runs the turns that follow, commits, and does so again
// until nothing is left to do. Then it has given the role up, and returns the effect
// that the fiber is to call, if any; over says that the run has ended, and that the
// role is still held.
func (x *run) rounds() (call *effectContext, over bool) {
	if !x.entered {
		x.entered = true
		if x.rt.hooks.any() { // not before: a run that is never driven would not end it
			x.hooks = newHookQueue(x.rt, x.id)
		}
		if !x.enter() {
			return nil, true
		}
	}
	for !x.dead.Load() {
		moved := x.takePost()
		if x.dead.Load() && !sabotage.On("answer-ignored") {
			break
		}
		moved = x.takeMail() || moved
		moved = x.fireDue() || moved
		x.gather(false)
		if err := x.m.Fault(); err != nil && !x.sending {
			x.diverged(err)
			return nil, true
		}
		switch {
		case x.m.Continuing() && !x.sending && !x.j.Dirty():
			if x.stopping() {
				x.letGo(0)
				return nil, true
			}
			x.nextGeneration()
			continue
		case x.m.Ended() && !x.sending:
			x.finish()
			return nil, true
		case x.m.Ended(): // the answer to what is in flight comes first
		case x.beginCalls() || moved:
			x.idleSince = 0
			// A call that was cancelled before it was made may let the body end, and an
			// end is finish's to commit.
			if (!x.m.Ended() || sabotage.On("end-is-an-event")) && x.mustCommit() && !x.commit() {
				return nil, true
			}
			continue
		case x.mustCommit():
			if !x.commit() {
				return nil, true
			}
			continue
		case x.pausing != nil && x.calling == 0 && !x.sending:
			x.pause()
			return nil, true
		case x.stopping():
			if x.handOver() {
				return nil, true
			}
		case x.mayPark():
			x.letGo(x.dueAt())
			return nil, true
		}
		x.armNext()
		call := x.next
		x.next = nil // before the role is given up: then it is another's
		if x.rest() {
			return call, false
		}
		x.next = call
		x.launch()
	}
	return nil, true
}

// launch calls the effect that was kept for the driver's own fiber on another one,
// because the driver has something else to do.
func (x *run) launch() {
	if c := x.next; c != nil {
		x.next = nil
		x.rt.world.Go("effect", c.callAndDrive)
	}
}

// enter brings the machine to where the log is; false if the run is over.
func (x *run) enter() bool {
	if x.first != nil {
		return x.enterStart()
	}
	if at := x.notBefore(); at > x.rt.node.now() {
		x.letGo(at)
		return false
	}
	if err := x.m.Replay(x.log); err != nil {
		x.diverged(err)
		return false
	}
	x.log = nil
	x.m.TakeCalls() // OpenEffects has them
	x.m.TakeCancels()
	x.opened()
	for _, op := range x.m.OpenEffects() {
		op.Cancelled = op.Cancelled && !sabotage.On("cancelled-again")
		op.Inherited = !x.clean && op.Intent != event.None && op.Intent <= x.j.Durable() && op.Due <= x.rt.node.now()
		switch {
		case op.Cancelled && mustAsk(op):
			x.m.GiveUpAt(op, x.rt.node.latest().Add(x.rt.tune.CancelGrace))
			x.calls = append(x.calls, op)
		case op.Cancelled:
			x.m.FailEffect(op, op.Attempts, uncalled(op))
		case op.Inherited && op.Effect.Do.(*step).once && !sabotage.On("once-again"):
			x.m.FailEffect(op, op.Attempts, unknown("the execution changed owners while the step was open"))
		case op.Due == 0:
			x.calls = append(x.calls, op)
		}
	}
	for _, op := range x.m.Children() {
		switch {
		case !op.Started:
			op.Inherited = !x.clean
			x.calls = append(x.calls, op)
		case op.Cancelled:
			x.cancelChild(op)
		}
	}
	return true
}

// betweenGenerations reports whether a generation has ended and the next has not begun:
// nobody is there to hear of anything, and what is recorded then would stand before the
// first turn of a body that has not run.
func (x *run) betweenGenerations() bool {
	return x.m.Continuing() && !sabotage.On("heard-between-generations")
}

// nextGeneration enters the body anew. What says so is durable.
func (x *run) nextGeneration() {
	x.finals, x.calls = nil, nil
	x.m.Continue()
	x.gather(false)
}

// enterStart adopts sequence 0. A chosen id's is durable already.
func (x *run) enterStart() bool {
	env := *x.first
	durable := x.j.Born()
	if !durable {
		x.j.Enqueue(env)
		x.rt.backlog.Add(int64(env.Size()))
		x.event(env)
		x.urgent = true
	} else {
		x.event(env)
		x.wasDurable(env)
		x.opened()
	}
	if !x.m.Adopt(env, x.started) {
		x.fail(errors.New("loom: sequence 0 does not begin the log"))
		return false
	}
	return true
}

// gather takes what the turns produced: events for the journal, effects to call
// and effects to ask to give way. read says that they come of a read-only step: a
// lone result of one may be lost without a loss.
func (x *run) gather(read bool) {
	events := x.m.TakeEvents()
	if len(events) > 0 && !(read && len(events) == 1) {
		x.urgent = true
	}
	if len(events) > 0 {
		_, before := x.j.Backlog()
		x.j.Enqueue(events...)
		_, after := x.j.Backlog()
		x.rt.backlog.Add(int64(after - before))
	}
	if x.hooks != nil {
		for _, e := range events {
			x.event(e)
			if sabotage.On("durable-early") {
				x.wasDurable(e)
			}
		}
	}
	for _, op := range x.m.TakeCancels() {
		x.giveWay(op)
	}
	x.calls = append(x.calls, x.m.TakeCalls()...)
}

// fireDue takes what is due by the node's clock.
func (x *run) fireDue() (moved bool) {
	if x.m.Ended() || x.pausing != nil || x.betweenGenerations() {
		return false
	}
	if x.dueAt() == event.Never {
		return false
	}
	now := x.rt.node.now()
	if at := x.m.State().Deadline; at != 0 && at <= now && x.m.State().Cancel == nil {
		x.m.Cancel(event.CancelRequested{Cause: kernel.CauseDeadline})
		moved = true
	}
	for {
		// A message that is there goes before a deadline: it may have come in time,
		// and nobody was there to record it.
		moved = x.takeMail() || moved
		if x.m.Ended() || x.behind() { // there may be more of it
			return moved
		}
		op := x.m.TakeDue(now)
		if op == nil {
			return moved
		}
		moved = true
		switch {
		case op.Effect == nil:
			x.m.Fire(op)
		case op.Cancelled:
			x.m.FailEffect(op, op.Attempts, unknown("the execution was cancelled, and the step did not settle in time"))
		default:
			x.calls = append(x.calls, op) // the next attempt
		}
	}
}

// diverged lets an execution go whose log this build cannot follow.
func (x *run) diverged(err error) {
	err = x.divergence(err)
	x.born.Open()
	x.rt.skipUntilMoved(x.id, x.letGo(0), err)
	x.rt.warn(x.id, err)
}

// divergence makes a [*DivergedError] of a machine's; other errors stay as they are.
func (x *run) divergence(err error) error {
	var d *kernel.Divergence
	if errors.As(err, &d) {
		return &DivergedError{ID: x.id, Sequence: d.Sequence, Recorded: d.Recorded, Asked: d.Asked}
	}
	return err
}

// leave ends the run, however it ended. The role is never given up again.
func (x *run) leave() {
	x.dead.Store(true)
	x.next = nil // nothing may be called any more
	x.endEffects(errSuperseded)
	if x.timer != nil {
		x.timer()
	}
	_, bytes := x.j.Backlog()
	x.rt.backlog.Add(-int64(bytes))
	x.m.Unload()
	x.refuseRecords()
	x.hooks.close()
	x.rt.left(func() { delete(x.rt.mu.live, x.id) })
	if x.ending() == nil { // who looked while it was in the books passed it over
		x.rt.scan.Wake()
	}
	x.born.Open()
	x.done.Open()
	x.rt.tell(x.id)
}

// errSuperseded ends the contexts of effects whose run has left.
var errSuperseded = errors.New("loom: this node no longer drives the execution")
