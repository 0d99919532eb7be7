package loom

import (
	"context"
	"encoding/json"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// Do calls fn, an effect on the outside world, and returns what it returned, in
// this run and in every replay.
//
// The intent to call is durable before fn is called, the result before anything
// depends on it. fn is called at most 1 + k times, k being how often the
// execution changed owners while the result was not durable; exactly once if
// nothing dies and the store answers within half of [Tuning.Lease]: a node that cannot
// renew its lease gives its executions up, and may be the one that takes them again. [IdempotencyKey] gives fn a key that is the same for all of
// them. [AtMostOnce], [Verify] and [ReadOnly] change that promise. The context that
// fn gets ends when the execution is cancelled, when the node stops, and at the
// [Timeout] of an attempt.
//
// name is [A-Za-z0-9_.:-]{1,64}; the same name may be used again.
//
// After a cancel nothing is called any more: Do returns [ErrCancelled], also in a branch
// that begins later; but not in what [Cleanup] and [Compensate] registered.
//
// Errors: a [*StepError] with what fn returned in its last attempt; it matches
// [ErrTimeout] if the attempt took too long, [ErrOutcomeUnknown] if fn was called and
// nobody knows what came of it; [ErrCancelled] if the execution was
// cancelled before the step began; [*NameError], [*InputValidationError] for
// [Args] that cannot be written, for options that contradict each other, or for a
// result that is not a T any more; [ErrUnloading], [*WrongBranchError],
// [*ForeignGoroutineError].
func Do[T any](ctx Context, name string, fn func(context.Context) (T, error), opts ...StepOption) (T, error) {
	var zero T
	b := ctx.branch()
	var s *step
	s, err := newStep[T](b, name, func(ctx context.Context) (json.RawMessage, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return s.encodeResult(v)
	}, opts)
	if err != nil {
		return zero, err
	}
	op, err := s.do(b)
	if err != nil {
		return zero, err
	}
	return decode[T]("result of step "+op.Path, op.Result)
}

// do asks for the effect and waits until it has settled.
func (s *step) do(b *branch) (*kernel.Op, error) {
	op, d := b.k.Effect(s.name, &kernel.Effect{ReadOnly: s.readOnly, Args: s.encoded, Do: s})
	if d != kernel.Allowed {
		return nil, b.denied(d)
	}
	b.k.Wait(op)
	if op.Ending == kernel.Failed {
		return op, &StepError{Step: op.Path, RecordedError: recordedOf(op.Failure), gaveWay: op.Cancelled && op.Failure.Code == event.CodeCancelled}
	}
	return op, nil
}
