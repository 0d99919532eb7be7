package loom

import (
	"fmt"

	"github.com/loomwork/loom/event"
)

// DivergedError reports a body that asked for something else than its log holds:
// the code changed under a running execution. Nothing was written and the
// execution was let go; a build whose code fits the log goes on with it.
type DivergedError struct {
	ID       event.ExecutionID
	Sequence event.Seq // of the recorded event, or where it would stand
	Recorded string    // what the log holds there
	Asked    string    // what the body asked for
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("loom: execution %s diverged at sequence %d: the log holds %s, the code asked for %s",
		e.ID, e.Sequence, e.Recorded, e.Asked)
}

// LoomCode returns the error's stable code.
func (e *DivergedError) LoomCode() string { return "diverged" }

// WrongBranchError reports a verb that was called with the Context of another
// branch than the running one, or of one that has ended.
type WrongBranchError struct {
	Branch string // path of the Context's branch, "" for the body itself
}

func (e *WrongBranchError) Error() string {
	name := e.Branch
	if name == "" {
		name = "the body itself"
	}
	return fmt.Sprintf("loom: verb called with the Context of %s, which does not run now: use the Context that loom.Go handed to this branch", name)
}

// LoomCode returns the error's stable code.
func (e *WrongBranchError) LoomCode() string { return "wrong_branch" }

// ForeignGoroutineError reports a verb that was called from a goroutine which the
// body started with a go statement.
type ForeignGoroutineError struct{ Branch string }

func (e *ForeignGoroutineError) Error() string {
	return "loom: verb called from a goroutine that is no branch of the body: begin it with loom.Go instead of a go statement"
}

// LoomCode returns the error's stable code.
func (e *ForeignGoroutineError) LoomCode() string { return "foreign_goroutine" }
