package loom

import (
	"errors"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// drive is the run's fiber. Each round takes what has come, runs the turns that
// follow, commits, and waits.
func (x *run) drive() {
	defer x.leave()
	if !x.enter() {
		return
	}
	for !x.dead.Load() {
		moved := x.takePost()
		moved = x.fireDue() || moved
		moved = x.takeMail() || moved
		x.gather(false)
		if x.m.Ended() {
			if !x.sending {
				x.finish()
				return
			}
			x.pause()
			continue
		}
		moved = x.beginCalls() || moved
		if x.mustCommit() {
			if !x.commit() {
				return
			}
			continue
		}
		if moved {
			x.idleSince = 0
			continue
		}
		if x.stopping() {
			if x.handOver() {
				return
			}
		} else if x.mayPark() {
			x.letGo(x.dueAt())
			return
		}
		x.pause()
	}
}

// enter brings the machine to where the log is; false if the run is over.
func (x *run) enter() bool {
	if x.first != nil {
		return x.enterStart()
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
		switch {
		case op.Cancelled && op.Intent != event.None && op.Intent <= x.j.Durable():
			// cancelled, and another runner may have called it: never again
			x.m.FailEffect(op, op.Attempts, &event.Failure{Code: event.CodeOutcomeUnknown,
				Message: "the execution was cancelled and changed owners while the step was open"})
		case op.Cancelled:
			x.m.FailEffect(op, op.Attempts, cancelledFailure)
		case op.Due == 0:
			x.calls = append(x.calls, op)
		}
	}
	return true
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
		}
	}
	for _, op := range x.m.TakeCancels() {
		x.giveWay(op)
	}
	x.calls = append(x.calls, x.m.TakeCalls()...)
}

// fireDue takes what is due by the node's clock.
func (x *run) fireDue() (moved bool) {
	if x.m.Ended() {
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
	for !x.m.Ended() {
		op := x.m.TakeDue(now)
		if op == nil {
			return moved
		}
		moved = true
		switch {
		case op.Effect == nil:
			x.m.Fire(op)
		case op.Cancelled:
			x.m.FailEffect(op, op.Attempts, &event.Failure{Code: event.CodeOutcomeUnknown,
				Message: "the execution was cancelled, and the step did not settle in time"})
		default:
			x.calls = append(x.calls, op) // the next attempt
		}
	}
	return moved
}

// diverged lets an execution go whose log this build cannot follow.
func (x *run) diverged(err error) {
	var d *kernel.Divergence
	if errors.As(err, &d) {
		err = &DivergedError{ID: x.id, Sequence: d.Sequence, Recorded: d.Recorded, Asked: d.Asked}
	}
	x.born.Open()
	x.fail(err)
	x.rt.skipUntilMoved(x.id, x.letGo(0), err)
	x.rt.warn(x.id, err)
}

// leave ends the run, however it ended.
func (x *run) leave() {
	x.dead.Store(true)
	x.endEffects(errSuperseded)
	if x.timer != nil {
		x.timer()
	}
	_, bytes := x.j.Backlog()
	x.rt.backlog.Add(-int64(bytes))
	x.m.Unload()
	x.hooks.close()
	x.rt.left(func() { delete(x.rt.mu.live, x.id) })
	x.born.Open()
	x.done.Open()
	x.rt.tell(x.id)
}

// errSuperseded ends the contexts of effects whose run has left.
var errSuperseded = errors.New("loom: this node no longer drives the execution")
