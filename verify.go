package loom

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/sabotage"
)

// Verdict is what the outside world says of a call that was cut off.
type Verdict int

// Verdicts. The zero Verdict is Unsure.
const (
	// Unsure: it cannot be found out. The step settles with [ErrOutcomeUnknown].
	Unsure Verdict = iota
	// Done: the call took effect; the answer's value is the step's result.
	Done
	// NotDone: the call had no effect and never will. The step is called again.
	NotDone
)

func (v Verdict) String() string {
	switch v {
	case Unsure:
		return "unsure"
	case Done:
		return "done"
	case NotDone:
		return "not done"
	}
	return fmt.Sprintf("verdict(%d)", int(v))
}

type verifier func(context.Context) (json.RawMessage, Verdict, error)

// Verify changes what happens to a step that was open when its execution changed
// owners, so that an earlier owner may have called it: instead of calling it again, fn
// asks the outside world what came of the call. Its context is the effect's own, so
// that [IdempotencyKey] is the key that the call was made with. fn is never asked about
// a step that was not called.
//
// With [Done] the value is the step's result, with [NotDone] the step is called, with
// [Unsure] it settles with [ErrOutcomeUnknown]. An error of fn says nothing about the
// step: fn is asked again later, after the waits of the step's [Retry] (from one second,
// if it has none), for as long as the execution is not cancelled; a [Permanent] error is
// like Unsure. After a cancel fn is asked once, and a step that was not done is not
// called.
//
// T is the step's result; another type is an [*InputValidationError] of [Do].
func Verify[T any](fn func(ctx context.Context) (T, Verdict, error)) StepOption {
	return stepOption(func(s *step) {
		s.verifies = reflect.TypeFor[T]()
		s.verify = func(ctx context.Context) (json.RawMessage, Verdict, error) {
			v, verdict, err := fn(ctx)
			if err != nil || verdict != Done {
				return nil, verdict, err
			}
			raw, err := s.encodeResult(v)
			return raw, verdict, err
		}
	})
}

// AtMostOnce says that the effect is never called twice. If its execution changes
// owners while the step is open, so that nobody can tell whether it was called, it
// settles with [ErrOutcomeUnknown]. Not together with a [Retry] of more than one
// attempt, [ReadOnly] or [Verify].
func AtMostOnce() StepOption { return stepOption(func(s *step) { s.once = true }) }

// mustAsk reports whether the step's outside has to be asked what came of an earlier
// owner's call, before anything else is done about the step.
func mustAsk(op *kernel.Op) bool {
	return op.Inherited && op.Effect.Do.(*step).verify != nil && !sabotage.On("verify-forgotten")
}

// settleAsked takes the answer to the question what came of an earlier call.
func (x *run) settleAsked(l letter) {
	op, s := l.op, l.op.Effect.Do.(*step)
	switch {
	case l.verdict == Done && l.failure == nil:
		x.m.CompleteEffect(op, l.result)
	case l.verdict == Done && l.paid:
		x.m.FailEffect(op, l.attempt, l.failure)
	case l.failure != nil && x.stopping():
		return // whoever comes next asks again
	case l.failure == nil && l.verdict == NotDone:
		op.Inherited = false // what is called from now on is this node's own
		x.m.CallAt(op, 0)
		x.calls = append(x.calls, op) // beginCalls settles it if it was cancelled
		return
	case l.failure != nil && !l.permanent && !op.Cancelled:
		s.asked++
		wait := s.retry.orASecond().wait(s.asked, x.id, x.seed, op.Path)
		x.rt.log.Warn("asking what came of a step failed", "execution", x.id, "step", op.Path, "error", l.failure.Message, "again_in", wait)
		x.m.CallAt(op, x.rt.node.latest().Add(wait))
		return
	default:
		f := unknown("nobody can tell what came of the call")
		if l.failure != nil {
			f.Message, f.Chain = l.failure.Message, append([]string{l.failure.Code}, l.failure.Chain...)
		}
		x.m.FailEffect(op, l.attempt, f)
	}
	x.gather(false)
}

// orASecond is r, or what waits a second first if r has no wait.
func (r Retry) orASecond() Retry {
	if r.Initial <= 0 {
		r.Initial = time.Second
	}
	return r
}
