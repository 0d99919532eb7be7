package loom

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/sabotage"
)

// final is something that a body left to do at its end.
type final struct {
	name string
	undo bool // only if the body failed
	run  func(ctx Context) error
}

// Cleanup registers fn to run when the body has ended, however it ended: with a
// result, an error, a panic or a cancel. Use it where a program would use defer: a
// deferred function also runs when a body is only unloaded, and its verbs are denied
// then.
//
// What was registered runs in the reverse order, together with the undos of
// [Compensate], after every branch of the body has ended, so that no effect is open
// any more. In fn every verb works, also after a cancel, which does not reach it; what
// it did is recorded, and goes on after a crash like the body. One that fails, or
// panics, keeps no other from running; the execution then fails, whatever the body
// returned, with an error of code [ErrCleanup] that holds the body's and all of theirs.
//
// name is for the text of that error. The error is a [*NameError], [ErrUnloading], a
// [*WrongBranchError] or a [*ForeignGoroutineError]; then nothing was registered.
func Cleanup(ctx Context, name string, fn func(ctx Context) error) error {
	return ctx.branch().leave("cleanup", final{name: name, run: fn})
}

// Compensate registers undo, an effect that takes back what a step of the body did. If
// the body ends with an error, a panic or a cancel, the registered ones are called in
// the reverse order, as a step called name each, with all that [Do] says of steps; if it
// ends with a result, none is. See [Cleanup] for the rest, a cancel above all: an open
// step settles before anything is undone, and no cancel stops an undo.
//
// Register it right after the step that it undoes; or before that, if undo finds out
// by itself whether there is anything to take back, so that a step whose outcome is
// unknown ([ErrOutcomeUnknown]) is taken back too. It may be registered after a cancel.
//
//	payment, err := loom.Do(ctx, "charge", charge)
//	if err != nil {
//		return err
//	}
//	err = loom.Compensate(ctx, "refund", func(ctx context.Context) error {
//		return gateway.Refund(ctx, payment.ID, loom.IdempotencyKey(ctx))
//	}, loom.Retry{Attempts: 10, Initial: time.Second})
//
// Errors: those of [Cleanup]; the [*InputValidationError] or [*TooLargeError] of
// [Args] that cannot be written, or of options that contradict each other.
func Compensate(ctx Context, name string, undo func(ctx context.Context) error, opts ...StepOption) error {
	call := func(ctx context.Context) (json.RawMessage, error) { return nil, undo(ctx) }
	s, err := newStep[struct{}](ctx.branch(), name, call, opts)
	if err != nil {
		return err
	}
	return ctx.branch().leave("step", final{name: name, undo: true, run: func(ctx Context) error {
		_, err := s.do(ctx.branch())
		return err
	}})
}

// leave registers what is left to do at the body's end.
func (b *branch) leave(what string, f final) error {
	if err := checkName(what, f.name); err != nil {
		return err
	}
	if d := b.k.Enter(); d != kernel.Allowed {
		return b.denied(d)
	}
	b.run.finals = append(b.run.finals, f)
	return nil
}

// final returns what runs after a body that ended so, nil if nothing is left to do.
func (x *run) final(end kernel.End) func(*kernel.Branch) kernel.End {
	if x.finals == nil || end.Failure == nil && !slices.ContainsFunc(x.finals, func(f final) bool { return !f.undo }) {
		return nil
	}
	return func(k *kernel.Branch) kernel.End {
		ctx := &branch{Context: bodyContext, k: k, run: x}
		var failed []error
		for len(x.finals) > 0 { // one that runs may register more
			f := x.finals[len(x.finals)-1]
			x.finals = x.finals[:len(x.finals)-1]
			if f.undo && end.Failure == nil && !sabotage.On("undo-anyway") {
				continue
			}
			if err := f.do(ctx); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", f.name, err))
			}
		}
		if failed == nil {
			return end
		}
		return kernel.End{Failure: cleanupFailure(end.Failure, failed)}
	}
}

// do runs it; a panic is its error.
func (f *final) do(ctx Context) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil { // nil: the goroutine ends, because the body is unloaded
			err = panicError(kernel.NewPanic(p))
		}
	}()
	err = f.run(ctx)
	returned = true
	return err
}

// cleanupFailure is what is recorded when something failed that was left to do: after
// what the body failed with, the texts and codes of each.
func cleanupFailure(body *event.Failure, failed []error) *event.Failure {
	out := &event.Failure{Code: event.CodeCleanup}
	var text []string
	note := func(line string, f *event.Failure) {
		text = append(text, line)
		out.Chain = append(append(out.Chain, f.Code), f.Chain...)
		addDetails(out, f.Details)
	}
	if body != nil {
		note(body.Message, body)
		out.Stack = body.Stack
	}
	for _, err := range failed {
		note(err.Error(), failureOf(err))
	}
	out.Message, out.Chain = cut(strings.Join(text, "\n")), out.Chain[:min(len(out.Chain), maxChain)]
	return out
}
