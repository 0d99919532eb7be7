package loom

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// Do calls fn, an effect on the outside world, and returns what it returned, in
// this run and in every replay.
//
// The intent to call is durable before fn is called, the result before anything
// depends on it. fn is called at most 1 + k times, k being how often the
// execution changed owners while the result was not durable; exactly once if
// nothing dies. [IdempotencyKey] gives fn a key that is the same for all of
// them. The context that fn gets ends when the execution is cancelled, when the
// node stops, and at the [Timeout] of an attempt.
//
// name is [A-Za-z0-9_.:-]{1,64}; the same name may be used again.
//
// After a cancel nothing is called any more: Do returns [ErrCancelled], also in a branch
// that begins later. Look at the error of a step that undoes something.
//
// Errors: a [*StepError] with what fn returned in its last attempt; it matches
// [ErrTimeout] if the attempt took too long, [ErrOutcomeUnknown] if the execution
// was cancelled and nobody knows what came of the call; [ErrCancelled] if it was
// cancelled before the step began; [*NameError], [*InputValidationError] for
// [Args] that cannot be written or a result that is not a T any more;
// [ErrUnloading], [*WrongBranchError], [*ForeignGoroutineError].
func Do[T any](ctx Context, name string, fn func(context.Context) (T, error), opts ...StepOption) (T, error) {
	var zero T
	b := ctx.branch()
	if err := checkName("step", name); err != nil {
		return zero, err
	}
	s := &step{name: name, limit: b.run.rt.tune.MaxPayload}
	for _, o := range opts {
		o.step(s)
	}
	args, err := s.encodeArgs()
	if err != nil {
		return zero, err
	}
	s.call = func(ctx context.Context) (json.RawMessage, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return s.encodeResult(v)
	}
	op, d := b.k.Effect(name, &kernel.Effect{ReadOnly: s.readOnly, Args: args, Do: s})
	if d != kernel.Allowed {
		return zero, b.denied(d)
	}
	b.k.Wait(op)
	if op.Ending == kernel.Failed {
		return zero, &StepError{Step: op.Path, RecordedError: recordedOf(op.Failure)}
	}
	return decode[T]("result of step "+op.Path, op.Result)
}

// step is what the shell knows of an effect.
type step struct {
	name     string
	readOnly bool
	retry    Retry
	timeout  time.Duration
	args     any
	hasArgs  bool
	limit    int
	call     func(context.Context) (json.RawMessage, error)
}

func (s *step) encodeArgs() (json.RawMessage, error) {
	if !s.hasArgs {
		return nil, nil
	}
	return encode("arguments of step "+s.name, s.args, s.limit)
}

// invalidResult is an effect's result that cannot be written down. The effect was
// called, so it settles, with its own code, and is not repeated.
type invalidResult struct{ err error }

func (e *invalidResult) Error() string    { return e.err.Error() }
func (e *invalidResult) Unwrap() error    { return e.err }
func (e *invalidResult) LoomCode() string { return event.CodeInvalidResult }

func (s *step) encodeResult(v any) (json.RawMessage, error) {
	raw, err := encode("result of step "+s.name, v, s.limit)
	if err == nil {
		return raw, nil
	}
	var large *TooLargeError
	if errors.As(err, &large) {
		return nil, &permanent{err, true}
	}
	return nil, &permanent{&invalidResult{err}, true}
}
