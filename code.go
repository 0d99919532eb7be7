package loom

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Code is an error that is its own stable text: it stands in logs, in JSON and
// in recorded failures as it is written here. Match it with errors.Is, also
// after a replay.
type Code string

func (c Code) Error() string { return "loom: " + string(c) }

// LoomCode returns the code.
func (c Code) LoomCode() string { return string(c) }

// Errors that verbs return inside a body.
const (
	// ErrCancelled: the execution, or the branch, was asked to give way.
	ErrCancelled = Code(event.CodeCancelled)
	// ErrTimeout: an [Await] reached its limit, or an attempt of a step took longer
	// than its [Timeout].
	ErrTimeout = Code(event.CodeTimeout)
	// ErrOutcomeUnknown: a step was called, and nobody knows what came of it.
	ErrOutcomeUnknown = Code(event.CodeOutcomeUnknown)
	// ErrCleanup: something that the body left to do at its end did not succeed; see
	// [Cleanup]. The texts and codes of what failed are in the same error.
	ErrCleanup = Code(event.CodeCleanup)
	// ErrNotEffect: the context is not one that an effect got.
	ErrNotEffect = Code("not_an_effect")
	// ErrSettled: the step was given up meanwhile, or another node drives its execution.
	ErrSettled = Code("settled")
	// ErrUnloading: a deferred function called a verb while its body was unwound.
	ErrUnloading = Code("unloading")
)

// Errors that a [Runtime] and its handles return.
const (
	// ErrNotFound: there is no such execution.
	ErrNotFound = Code("not_found")
	// ErrNotPaused: the execution is not paused.
	ErrNotPaused = Code("not_paused")
	// ErrEnded: the execution has ended and takes no message.
	ErrEnded = Code("ended")
	// ErrClosed: the runtime was closed.
	ErrClosed = Code("closed")
	// ErrDeleting: an execution of this id is being deleted; try again later.
	ErrDeleting = Code("deleting")
	// ErrTerminated: the execution was ended by [Runtime.Terminate].
	ErrTerminated = Code(event.CodeTerminated)
	// ErrAlreadyExists: the id of a child is taken by another execution. The start of an
	// execution says so with an [*ExecutionAlreadyExistsError], which matches it too.
	ErrAlreadyExists = Code("already_exists")
	// ErrDeadline: the execution's deadline passed.
	ErrDeadline = Code(event.CodeDeadline)
)

// coded is an error with a stable code of its own.
type coded interface{ LoomCode() string }

// foreign are errors of the standard library that keep their identity in a
// recorded failure. The codes are in logs: they never change.
var foreign = []struct {
	code string
	err  error
}{
	{"context_canceled", context.Canceled},
	{"context_deadline_exceeded", context.DeadlineExceeded},
	{"unsupported", errors.ErrUnsupported},
	{"eof", io.EOF},
	{"unexpected_eof", io.ErrUnexpectedEOF},
	{"file_not_exist", fs.ErrNotExist},
	{"file_exist", fs.ErrExist},
	{"file_permission", fs.ErrPermission},
}

// ownCodes are the codes that no error type of a user may have: looked up, never walked.
var ownCodes = func() map[string]bool {
	own := map[string]bool{}
	for _, c := range []Code{ErrCancelled, ErrTimeout, ErrOutcomeUnknown, ErrCleanup, ErrNotEffect, ErrSettled, ErrUnloading,
		ErrNotFound, ErrNotPaused, ErrEnded, ErrClosed, ErrDeleting, ErrTerminated, ErrDeadline, ErrAlreadyExists,
		event.CodeError, event.CodePanic, event.CodeExited, event.CodeTooLarge, event.CodeInvalidResult} {
		own[string(c)] = true
	}
	for _, e := range []coded{&InputValidationError{}, &NameError{}, &DivergedError{}, &WrongBranchError{},
		&ForeignGoroutineError{}, &ExecutionAlreadyExistsError{}, &StorageWriteError{}, &StartFencedOutError{}} {
		own[e.LoomCode()] = true
	}
	for _, f := range foreign {
		own[f.code] = true
	}
	return own
}()

// codeOf returns the code of err itself, not of its causes; "" for none.
func codeOf(err error) string {
	if c, ok := err.(coded); ok {
		return c.LoomCode()
	}
	for _, f := range foreign {
		if err == f.err {
			return f.code
		}
	}
	return ""
}

// standsFor returns the code of the error of the standard library that err, by its method
// Is, says it is: as the numbers do that an operating system fails with. "" for none.
func standsFor(err error) string {
	is, ok := err.(interface{ Is(error) bool })
	if !ok {
		return ""
	}
	for _, f := range foreign {
		if is.Is(f.err) {
			return f.code
		}
	}
	return ""
}

// hasCode reports whether target is the error that code stands for.
func hasCode(code string, target error) bool {
	switch t := target.(type) {
	case Code:
		return code == string(t)
	case store.Code:
		return code == string(t)
	}
	for _, f := range foreign {
		if target == f.err {
			return code == f.code
		}
	}
	return false
}
