package seedapi

import (
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// DuplicateSequenceError refuses an append because the slot is taken.
type DuplicateSequenceError struct {
	Execution event.ExecutionID
	Sequence  event.Seq
}

func (e *DuplicateSequenceError) Error() string {
	return fmt.Sprintf("seedapi: sequence %d of %s exists", e.Sequence, e.Execution)
}

// LoomCode returns the error's stable code.
func (e *DuplicateSequenceError) LoomCode() string { return "duplicate_sequence" }

// DuplicateEnvelopeError refuses an append because an envelope of this id is
// there, of whichever execution. Only a store that keeps envelope ids beside
// positions reports it.
type DuplicateEnvelopeError struct{ ID string }

func (e *DuplicateEnvelopeError) Error() string {
	return fmt.Sprintf("seedapi: envelope %s exists", e.ID)
}

// LoomCode returns the error's stable code.
func (e *DuplicateEnvelopeError) LoomCode() string { return "duplicate_envelope" }

// StaleFenceError refuses a writer whose token is not the newest, or who
// presents none although one was acquired.
type StaleFenceError struct {
	Execution event.ExecutionID
	Token     store.Fence // as presented; store.NoFence for none
	Current   store.Fence
}

func (e *StaleFenceError) Error() string {
	if e.Token == store.NoFence {
		return fmt.Sprintf("seedapi: a write to %s without a token, where %d is due", e.Execution, e.Current)
	}
	return fmt.Sprintf("seedapi: a write to %s under token %d, where %d is due", e.Execution, e.Token, e.Current)
}

// LoomCode returns the error's stable code.
func (e *StaleFenceError) LoomCode() string { return "stale_fence" }

// GapError refuses an append that would leave a hole. The older system took it;
// no store of this SPI does.
type GapError struct {
	Execution event.ExecutionID
	Sequence  event.Seq // of the append
	Head      event.Seq // event.None where nothing exists
}

func (e *GapError) Error() string {
	return fmt.Sprintf("seedapi: sequence %d of %s would leave a gap after %d", e.Sequence, e.Execution, e.Head)
}

// LoomCode returns the error's stable code.
func (e *GapError) LoomCode() string { return "gap" }

// FailedError is any other end of an operation: the store could not, nobody
// knows, or it refused for a reason that the older system did not have.
type FailedError struct {
	Execution event.ExecutionID
	Outcome   store.Outcome
	Refusal   store.Refusal // with store.Refused
	Err       error         // the store's cause, nil for none
}

func (e *FailedError) Error() string {
	msg := fmt.Sprintf("seedapi: write to %s: %s", e.Execution, e.Outcome)
	if e.Outcome == store.Refused {
		msg += " (" + e.Refusal.String() + ")"
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// LoomCode returns the error's stable code.
func (e *FailedError) LoomCode() string { return "append_failed" }

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }
