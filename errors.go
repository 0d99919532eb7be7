package loom

import (
	"fmt"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// StepError is the recorded error of a step: what its effect returned in the
// attempt that settled it. errors.Is finds the codes of the original's chain,
// in the run that made it and in every replay.
type StepError struct {
	Step string // path of the step
	RecordedError

	gaveWay bool // it was asked to
}

func (e *StepError) Error() string { return e.Message }

// ExecutionError is how an execution ended that did not complete.
type ExecutionError struct {
	ID     event.ExecutionID
	Status fold.Status // failed, cancelled or terminated
	RecordedError
}

func (e *ExecutionError) Error() string {
	return fmt.Sprintf("loom: execution %s %s: %s", e.ID, e.Status, e.Message)
}

// PanicError is a panic of a body, a branch or an effect.
type PanicError struct {
	Message string   // the panic's value as text
	Stack   []string // "function:line", innermost first
}

func (e *PanicError) Error() string {
	if len(e.Stack) > 0 {
		return fmt.Sprintf("loom: panic: %s (at %s)", e.Message, e.at())
	}
	return "loom: panic: " + e.Message
}

// at returns the first frame that is not the Go runtime's own.
func (e *PanicError) at() string {
	for _, s := range e.Stack {
		if !strings.HasPrefix(s, "runtime.") {
			return s
		}
	}
	return e.Stack[0]
}

// LoomCode returns the error's stable code.
func (e *PanicError) LoomCode() string { return event.CodePanic }

// TooLargeError reports a value over the limit of [Tuning.MaxPayload]. For a
// step's result it is recorded and the step is not called again: it was paid for.
type TooLargeError struct {
	What  string // "input of flow f", "result of step charge#1"
	Bytes int    // 0 when it comes from a log
	Limit int
}

func (e *TooLargeError) Error() string {
	if e.Limit == 0 {
		return "loom: " + e.What
	}
	return fmt.Sprintf("loom: %s has %d bytes, the limit is %d", e.What, e.Bytes, e.Limit)
}

// LoomCode returns the error's stable code.
func (e *TooLargeError) LoomCode() string { return event.CodeTooLarge }

// InputValidationError reports a value that cannot be written down, or read back
// as its type: invalid UTF-8, NaN, a channel, a cycle, JSON of another shape. Nothing
// was written.
type InputValidationError struct {
	What string // "input of flow f"
	Err  error
}

func (e *InputValidationError) Error() string { return fmt.Sprintf("loom: %s: %v", e.What, e.Err) }

// Unwrap returns the cause.
func (e *InputValidationError) Unwrap() error { return e.Err }

// LoomCode returns the error's stable code.
func (e *InputValidationError) LoomCode() string { return "invalid_input" }

// NameError reports a name outside [A-Za-z0-9_.:-]{1,64}, or one that only Loom uses.
type NameError struct {
	What     string // "step", "branch", "message", "flow", "label"
	Name     string
	Reserved bool // it is Loom's own
}

func (e *NameError) Error() string {
	name := e.Name
	if len(name) > 80 {
		name = name[:80]
	}
	if e.Reserved {
		return fmt.Sprintf("loom: %q cannot name a %s: it is one of Loom's own", name, e.What)
	}
	return fmt.Sprintf("loom: %q cannot name a %s: use 1 to 64 of A-Z a-z 0-9 _ . : -", name, e.What)
}

// LoomCode returns the error's stable code.
func (e *NameError) LoomCode() string { return "invalid_name" }

// IDError reports an execution id outside the grammar. Nothing was written.
type IDError = event.IDError
