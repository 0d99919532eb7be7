package loom

import (
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// ExecutionAlreadyExistsError refuses a start with a chosen id that exists. No
// body ran, no effect was called and no event was written. [Attach] gives a
// handle to what is there.
type ExecutionAlreadyExistsError struct {
	ID     event.ExecutionID
	Flow   string // of the existing execution
	Status fold.Status
	// SameRequest tells whether flow and input are those of this start.
	SameRequest bool

	parent string // what its first event says of its parent
}

func (e *ExecutionAlreadyExistsError) Error() string {
	other := ""
	if !e.SameRequest {
		other = ", and it was started with another flow or input"
	}
	return fmt.Sprintf("loom: execution %s already exists (flow %s, %s)%s", e.ID, e.Flow, e.Status, other)
}

// LoomCode returns the error's stable code.
func (e *ExecutionAlreadyExistsError) LoomCode() string { return string(ErrAlreadyExists) }

// Is matches [ErrAlreadyExists].
func (e *ExecutionAlreadyExistsError) Is(target error) bool { return target == ErrAlreadyExists }

// StorageWriteError reports that the store did not take what had to be durable.
// Unless Definite, the write may have happened all the same: a start that fails
// with it may exist, and is then driven like any other.
type StorageWriteError struct {
	ID  event.ExecutionID
	Err error
	// Definite says that nothing was written.
	Definite bool
}

func (e *StorageWriteError) Error() string {
	if e.Definite {
		return fmt.Sprintf("loom: execution %s: nothing was written: %v", e.ID, e.Err)
	}
	return fmt.Sprintf("loom: execution %s: the outcome of a write is unknown: %v", e.ID, e.Err)
}

// Unwrap returns the cause.
func (e *StorageWriteError) Unwrap() error { return e.Err }

// LoomCode returns the error's stable code.
func (e *StorageWriteError) LoomCode() string { return "storage_write" }

// StartFencedOutError is the cause of a [*StorageWriteError] when a store refused
// a start twice for its token although nothing is there: whoever holds the newer
// token wrote nothing and may be dead. Try again later. No store of Loom's own
// does that.
type StartFencedOutError struct{ ID event.ExecutionID }

func (e *StartFencedOutError) Error() string {
	return fmt.Sprintf("loom: start of %s was fenced out, and nothing is there", e.ID)
}

// LoomCode returns the error's stable code.
func (e *StartFencedOutError) LoomCode() string { return "start_fenced_out" }

// Retryable returns true.
func (e *StartFencedOutError) Retryable() bool { return true }
