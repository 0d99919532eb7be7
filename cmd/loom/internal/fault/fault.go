// Package fault is how the command line fails: every error that a person sees has a
// stable code, one sentence, the command to try next, and an exit code.
package fault

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

// Exit is a process's exit code.
type Exit int

// Exit codes. They are a contract: scripts branch on them.
const (
	OK          Exit = 0
	Unexpected  Exit = 1
	Usage       Exit = 2
	NotFound    Exit = 3
	Forbidden   Exit = 4   // not permitted
	Conflict    Exit = 5   // exists, moved, a stale token, an owner that lives
	Ended       Exit = 6   // the execution failed or was cancelled
	Problem     Exit = 7   // a check found a problem
	Waiting     Exit = 8   // for a person, a message or a timer
	TimedOut    Exit = 124 // a limit that the caller set
	Interrupted Exit = 130
)

// Error is what a person sees of a failure.
type Error struct {
	Code    string // stable, lower_snake
	Message string // one sentence
	Try     string // the command to try next, "" for none
	Exit    Exit
	Err     error // the cause, nil for none
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a code of its own.
func New(exit Exit, code, message, try string) *Error {
	return &Error{Code: code, Message: message, Try: try, Exit: exit}
}

// ErrInterrupted is the cause of a context that a signal ended.
var ErrInterrupted = errors.New("interrupted")

// coded is an error of Loom's packages.
type coded interface {
	error
	LoomCode() string
}

// Of returns err as an [*Error]; what is one already stays as it is. try is the
// command to suggest if the error itself suggests none.
func Of(err error, try string) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Code: "unexpected", Message: Plain(err.Error()), Try: try, Exit: exitOf(err), Err: err}
	var c coded
	switch {
	case e.Exit == Interrupted:
		e.Code, e.Message = "interrupted", "the command was interrupted"
	case e.Exit == TimedOut:
		e.Code, e.Message = "timed_out", "the time limit passed"
	case errors.As(err, &c):
		e.Code = c.LoomCode()
	case e.Exit == Forbidden:
		e.Code = "not_permitted"
	case e.Exit == NotFound:
		e.Code = "not_found"
	}
	if e.Message == "" {
		e.Message = e.Code
	}
	return e
}

// predicates say of an execution what a code means that stands for a whole sentence.
var predicates = []struct {
	code loom.Code
	is   string
}{
	{loom.ErrNotFound, "is not there"},
	{loom.ErrEnded, "has ended and takes no message"},
	{loom.ErrDeleting, "is being deleted; try again later"},
}

// Plain returns an error's text without the prefixes of the package it comes from,
// which stand in the middle where one error wraps another, and with words for a code
// at its end.
func Plain(text string) string {
	const prefix = "loom: "
	text = strings.ReplaceAll(strings.TrimPrefix(text, prefix), ": "+prefix, ": ")
	for _, p := range predicates {
		if text == string(p.code) {
			return "the execution " + p.is
		}
		if about, ok := strings.CutSuffix(text, ": "+string(p.code)); ok {
			return about + ": it " + p.is
		}
	}
	return text
}

// exits maps the errors that are matched by value.
var exits = []struct {
	err  error
	exit Exit
}{
	{ErrInterrupted, Interrupted},
	{context.Canceled, Interrupted},
	{context.DeadlineExceeded, TimedOut},
	{loom.ErrNotFound, NotFound},
	{store.ErrVanished, NotFound},
	{fs.ErrNotExist, NotFound},
	{loom.ErrEnded, Conflict},
	{loom.ErrDeleting, Conflict},
	{store.ErrRefused, Conflict},
	{store.ErrReadOnly, Forbidden},
	{fs.ErrPermission, Forbidden},
	{sqlite.ErrNotADatabase, Usage},
	{store.ErrCorrupt, Problem},
}

func exitOf(err error) Exit {
	var (
		exists     *loom.ExecutionAlreadyExistsError
		id         *loom.IDError
		name       *loom.NameError
		input      *loom.InputValidationError
		large      *loom.TooLargeError
		ended      *loom.ExecutionError
		decode     *event.DecodeError
		impossible *fold.LogError
		file       *event.LogFileError
	)
	switch {
	case errors.As(err, &ended):
		return Ended
	case errors.As(err, &exists):
		return Conflict
	case errors.As(err, &id), errors.As(err, &name), errors.As(err, &input), errors.As(err, &large):
		return Usage
	case errors.As(err, &decode), errors.As(err, &impossible), errors.As(err, &file):
		return Problem
	}
	for _, x := range exits {
		if errors.Is(err, x.err) {
			return x.exit
		}
	}
	return Unexpected
}
