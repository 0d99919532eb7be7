package loom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/internal/sabotage"
)

// uncalled is how a cancelled effect settles that this node does not call: an
// earlier owner may have called it, and then nobody knows what came of it.
func uncalled(op *kernel.Op) *event.Failure {
	if op.Inherited {
		return unknown("the execution was cancelled, and changed owners while the step was open")
	}
	return &event.Failure{Code: event.CodeCancelled, Message: "cancelled before it was called"}
}

// unknown is how a step settles of which nobody knows what came of its call.
func unknown(why string) *event.Failure {
	return &event.Failure{Code: event.CodeOutcomeUnknown, Message: why}
}

// beginCalls calls the effects whose intents are durable. It reports whether a
// turn was made.
func (x *run) beginCalls() (moved bool) {
	if x.lookAgain != 0 && x.lookAgain <= x.rt.node.now() {
		x.lookAgain = 0
	}
	if len(x.calls) == 0 {
		return false
	}
	waiting := x.calls
	x.calls = nil
	for i, op := range waiting {
		switch {
		case op.Ending != kernel.Open || op.Call != nil:
		case startsChild(op) && op.Started:
		case op.Cancelled && startsChild(op) && !op.Inherited:
			x.refuseChild(op, uncalled(op))
			x.calls = append(x.calls, waiting[i+1:]...)
			return true
		case op.Cancelled && !startsChild(op) && !mustAsk(op):
			x.m.FailEffect(op, op.Attempts, uncalled(op))
			x.calls = append(x.calls, waiting[i+1:]...)
			x.gather(false)
			return true
		case x.stopping(), x.pausing != nil:
			x.calls = append(x.calls, op) // stays open; whoever comes next calls it
		case op.Intent > x.j.Durable() && !sabotage.On("call-before-intent") && !sabotage.On("precheck-only"), op.Effect.ReadOnly && x.j.Dirty() && x.full():
			x.calls = append(x.calls, op)
		case !op.Effect.ReadOnly && !x.stillMine():
			x.calls = append(x.calls, op)
		default:
			x.call(op)
		}
	}
	return false
}

// call calls one effect: on the driver's own fiber if that has nothing else to do, or
// on another one.
func (x *run) call(op *kernel.Op) {
	x.calling++
	if op.Effect.ReadOnly {
		x.readers++
	}
	ctx := &effectContext{run: x, op: op, attempt: op.Attempts + 1, asks: mustAsk(op), progress: op.Progress}
	op.Call = ctx
	x.launch()
	x.next = ctx
}

// callAndDrive is the fiber of an effect.
func (c *effectContext) callAndDrive() {
	if c.callEffect() {
		c.run.drive()
	}
}

// callEffect calls the effect and sends what it returned; true if the fiber has taken
// the driver's role with that.
func (c *effectContext) callEffect() (took bool) {
	x, s := c.run, c.op.Effect.Do.(*step)
	l := letter{op: c.op, attempt: c.attempt, asked: c.asks}
	// Nothing may come between this check and the call: a fiber that was paused
	// before it finds out here that its lease ran out meanwhile.
	if !x.mayCall(s.readOnly) {
		l.skipped = true
		x.send(l)
		return x.take()
	}
	returned := false
	defer func() {
		if !returned { // the effect ended its goroutine, and with it this fiber
			l.describe(Code(event.CodeExited))
			x.send(l)
			x.poke()
		}
	}()
	result, verdict, err := s.invoke(c)
	l.describe(err)
	l.result, l.verdict = result, verdict
	returned = true
	x.send(l)
	return x.take()
}

// describe writes down what an effect returned. It is done on the effect's fiber,
// because the methods of a user's error may panic, those of a typed nil above all.
func (l *letter) describe(err error) {
	l.failure, l.permanent, l.paid, l.gaveWay = nil, false, false, false
	if err == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.failure, l.permanent, l.paid, l.gaveWay = failureOf(panicError(kernel.NewPanic(p))), false, false, false
		}
	}()
	l.permanent, l.paid = isPermanent(err)
	l.gaveWay = errors.Is(err, context.Canceled)
	l.failure = failureOf(err)
}

// mayCall is the last look before an effect is called: the journal is healthy,
// and the local lease bound has not passed since ownership was last seen. That the
// intent is durable was seen by the driver, and stays so.
func (x *run) mayCall(readOnly bool) bool {
	if x.dead.Load() {
		return false
	}
	if readOnly {
		return true
	}
	lapse, ok := x.rt.node.holds()
	return ok && x.owned.Load() == lapse || sabotage.On("lease-unchecked")
}

// invoke calls the effect once, or asks what came of an earlier call, within its time
// limit.
func (s *step) invoke(ctx *effectContext) (result json.RawMessage, verdict Verdict, err error) {
	if s.timeout > 0 {
		stop := ctx.run.rt.world.After(s.timeout, func() { ctx.end(context.DeadlineExceeded) })
		defer stop()
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, panicError(kernel.NewPanic(p))
		}
	}()
	switch {
	case ctx.asks:
		result, verdict, err = s.verify(ctx)
	case ctx.run.rt.stage != nil:
		result, err = s.callOnStage(ctx)
	default:
		result, err = s.call(ctx)
	}
	if err != nil && ctx.timedOut() {
		err = &attemptTimeout{after: s.timeout.String(), err: err}
	}
	return result, verdict, err
}

// callOnStage lets a test of a flow answer in place of the effect.
func (s *step) callOnStage(ctx *effectContext) (json.RawMessage, error) {
	v, err := ctx.run.rt.stage.Effect(ctx, rt.EffectCall{Execution: string(ctx.run.id), Name: s.name, Path: ctx.op.Path,
		Attempt: ctx.attempt, ReadOnly: s.readOnly, Do: func(ctx context.Context) (any, error) { return s.call(ctx) }})
	if err != nil {
		return nil, err
	}
	if raw, written := v.(json.RawMessage); written {
		return raw, nil
	}
	return s.encodeResult(v)
}

// attemptTimeout is an attempt that took longer than it may.
type attemptTimeout struct {
	after string
	err   error
}

func (e *attemptTimeout) Error() string    { return fmt.Sprintf("timed out after %s: %v", e.after, e.err) }
func (e *attemptTimeout) Unwrap() error    { return e.err }
func (e *attemptTimeout) LoomCode() string { return event.CodeTimeout }

// takePost takes what other fibers said. It reports whether anything came.
func (x *run) takePost() (moved bool) {
	x.mu.Lock()
	post := x.mu.post
	x.mu.post, x.mu.news = nil, false
	x.mu.Unlock()
	for _, l := range post {
		moved = true
		switch {
		case l.answer != nil:
			x.sending = false
			if !x.settle(l.answer) && !sabotage.On("answer-ignored") {
				return true // the run is over; what else came is nobody's
			}
		case l.lost:
			x.abort(errSuperseded)
			return true
		case l.progress != nil:
			x.recordProgress(l)
		case l.skipped:
			x.returned(l.op)
			x.calls = append(x.calls, l.op)
		default:
			x.returned(l.op)
			x.settleEffect(l)
		}
	}
	return moved
}

// returned takes an effect off the books of those that run.
func (x *run) returned(op *kernel.Op) {
	x.calling--
	if op.Effect.ReadOnly {
		x.readers--
	}
	op.Call.(*effectContext).end(context.Canceled) // what was derived from it ends too
	op.Call = nil
}

// settleEffect takes what an effect returned.
func (x *run) settleEffect(l letter) {
	op := l.op
	if op.Ending != kernel.Open || x.m.Ended() {
		return // it was given up
	}
	if startsChild(op) {
		x.settleChildStart(l)
		return
	}
	if l.asked {
		x.settleAsked(l)
		return
	}
	if l.failure == nil {
		x.m.CompleteEffect(op, l.result)
		x.gather(op.Effect.ReadOnly)
		return
	}
	if x.stopping() && !l.paid {
		return // an error of a stopping node says nothing about the effect
	}
	f := l.failure
	if op.Cancelled && l.gaveWay {
		f = &event.Failure{Code: event.CodeCancelled, Message: f.Message, Chain: append([]string{f.Code}, f.Chain...), Details: f.Details}
	}
	s := op.Effect.Do.(*step)
	if op.Cancelled || l.permanent || l.attempt >= s.retry.Attempts {
		x.m.FailEffect(op, l.attempt, f)
	} else {
		wait := s.retry.wait(l.attempt, x.id, x.seed, op.Path)
		notBefore := x.rt.node.now() // no wait was asked for
		if wait > 0 {
			notBefore = x.rt.node.latest().Add(wait)
		}
		x.m.FailAttempt(op, f, notBefore)
		op.Inherited = false // the attempt to come is this node's own
	}
	x.gather(false)
}

// giveWay asks an effect to: its context ends, and after the grace its outcome is
// recorded as unknown. One that is not being called settles at once, if nobody has to
// be asked about it.
func (x *run) giveWay(op *kernel.Op) {
	if startsChild(op) {
		x.giveWayChild(op)
		return
	}
	call, ok := op.Call.(*effectContext)
	switch {
	case ok:
		call.end(ErrCancelled)
	case mustAsk(op):
		x.calls = append(x.calls, op)
	default:
		x.calls = append(x.calls, op) // beginCalls settles it
		x.m.GiveUpAt(op, 0)
		return
	}
	x.m.GiveUpAt(op, x.rt.node.latest().Add(x.rt.tune.CancelGrace))
}

// endEffects ends the contexts of the effects that run.
func (x *run) endEffects(cause error) {
	for _, op := range append(x.m.OpenEffects(), x.m.Children()...) {
		if call, ok := op.Call.(*effectContext); ok {
			call.end(cause)
		}
	}
}
