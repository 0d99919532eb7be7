package loom

import (
	"encoding/json"

	"github.com/loomwork/loom/internal/kernel"
)

// ContinueAs ends this body and enters the flow's anew with input in, in the same
// execution: under the same id, with the same log, labels and deadline, and with the
// messages that nobody has received yet. The body must return the error that ContinueAs
// returns as it is: wrapped or joined it fails the execution, and a body that drops it ends
// by what it returns instead.
//
//	return "", loom.ContinueAs(ctx, Page{Number: in.Number + 1})
//
// A long life is cut into generations by it: a replay begins at the last one, and what is
// kept in memory of an execution is that of the last one. What the body leaves to its end
// runs first ([Cleanup]; [Compensate] does not apply); its open branches are cancelled as
// at any end; children go on, and nobody waits for them any more. [Run.Result] waits for
// the last generation. [Rand] and [NewID] give other values in each, [Version] is asked
// anew, and a message is recognised as a repeat by the generation that received it.
//
// Errors, which the body may handle: [ErrCancelled] after a cancel, so that no cancelled
// execution goes on for ever; an [*InputValidationError] or [*TooLargeError] for an in
// that cannot be written or that the flow does not take; [ErrUnloading],
// [*WrongBranchError], [*ForeignGoroutineError].
func ContinueAs(ctx Context, in any) error {
	b := ctx.branch()
	if d := b.k.Enter(); d != kernel.Allowed {
		return b.denied(d)
	}
	if b.k.Cancelled() {
		return ErrCancelled
	}
	raw, err := encode("input of the next generation", in, b.run.rt.tune.MaxPayload)
	if err != nil {
		return err
	}
	if err := b.run.flow.takes(raw); err != nil {
		return err
	}
	return &continued{input: raw}
}

// continued is what a body returns that wants to be entered anew.
type continued struct{ input json.RawMessage }

func (c *continued) Error() string {
	return "loom: to be continued: the body must return what ContinueAs returns as it is"
}
