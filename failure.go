package loom

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// failureOf writes an error down: its code, its text, and the codes of its
// causes. What user code returned is an ordinary failure whatever its code.
func failureOf(err error) *event.Failure {
	var p *PanicError
	if errors.As(err, &p) {
		return &event.Failure{Code: event.CodePanic, Message: cut(p.Message), Stack: p.Stack}
	}
	var codes []string
	walk(err, func(e error) {
		if c := codeOf(e); c != "" {
			codes = append(codes, c)
		}
		if r, ok := e.(interface{ codes() []string }); ok {
			codes = append(codes, r.codes()...)
		}
	})
	f := &event.Failure{Code: event.CodeError, Message: cut(err.Error())}
	if len(codes) > 0 {
		f.Code, f.Chain = codes[0], codes[1:]
	}
	f.Chain = f.Chain[:min(len(f.Chain), maxChain)]
	return f
}

// maxChain is how many codes of causes are recorded.
const maxChain = 32

// walk visits err and its causes, outermost first.
func walk(err error, visit func(error)) {
	for err != nil {
		visit(err)
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				walk(e, visit)
			}
			return
		default:
			return
		}
	}
}

// cut returns text as valid UTF-8 of at most [event.MaxMessageBytes].
func cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= event.MaxMessageBytes {
		return text
	}
	text = text[:event.MaxMessageBytes]
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text
}

// RecordedError is what the errors that were read from a log have in common. Of the
// original it holds the text and the codes of its chain, so errors.Is finds
//
//   - any [Code];
//   - context.Canceled and context.DeadlineExceeded, errors.ErrUnsupported, io.EOF and
//     io.ErrUnexpectedEOF, fs.ErrNotExist, fs.ErrExist and fs.ErrPermission;
//
// and no other value of the original's chain, in no run. An error type of your own is
// found by its code: give it a method LoomCode() string, and look for Code(that).
type RecordedError struct {
	Code    string   // stable; see [Code]
	Message string   // the text of the original error
	Chain   []string // codes of its causes, outermost first
	Stack   []string // of a panic, innermost first
}

func recordedOf(f *event.Failure) RecordedError {
	return RecordedError{Code: f.Code, Message: f.Message, Chain: f.Chain, Stack: f.Stack}
}

// LoomCode returns the recorded code.
func (e *RecordedError) LoomCode() string { return e.Code }

func (e *RecordedError) codes() []string { return e.Chain }

// Is matches a [Code], and the errors of the standard library that keep their
// identity, anywhere in the recorded chain.
func (e *RecordedError) Is(target error) bool {
	if hasCode(e.Code, target) {
		return true
	}
	for _, c := range e.Chain {
		if hasCode(c, target) {
			return true
		}
	}
	return false
}

// As fills a *[PanicError] or *[TooLargeError] if that is what was recorded.
func (e *RecordedError) As(target any) bool {
	switch t := target.(type) {
	case **PanicError:
		if e.Code == event.CodePanic {
			*t = &PanicError{Message: e.Message, Stack: e.Stack}
			return true
		}
	case **TooLargeError:
		if e.Code == event.CodeTooLarge {
			*t = &TooLargeError{What: e.Message}
			return true
		}
	}
	return false
}

func panicError(p *kernel.Panic) *PanicError {
	f := kernel.PanicFailure(p)
	return &PanicError{Message: f.Message, Stack: f.Stack}
}
