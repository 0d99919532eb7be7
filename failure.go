package loom

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/kernel"
)

// failureOf writes an error down: its code, its text, and the codes of its
// causes. What user code returned is an ordinary failure whatever its code.
func failureOf(err error) *event.Failure {
	var p *PanicError
	if errors.As(err, &p) {
		return &event.Failure{Code: event.CodePanic, Message: cut(p.Message), Stack: p.Stack}
	}
	f := &event.Failure{Code: event.CodeError, Message: cut(err.Error())}
	var codes []string
	walk(err, func(e error) {
		code := registered(e)
		if code != "" {
			addDetail(f, func(room int) (event.Detail, bool) { return detailOf(e, code, room) })
		} else if code = codeOf(e); code == "" {
			code = standsFor(e)
		}
		if code != "" {
			codes = append(codes, code)
		}
		if r, ok := e.(interface{ codes() []string }); ok {
			codes = append(codes, r.codes()...)
		}
		if r, ok := e.(interface{ recordedDetails() []event.Detail }); ok {
			addDetails(f, r.recordedDetails())
		}
	})
	if len(codes) > 0 {
		f.Code, f.Chain = codes[0], codes[1:]
	}
	f.Chain = f.Chain[:min(len(f.Chain), maxChain)]
	return f
}

// addDetail adds what detail returns for the room that is left, if anything.
func addDetail(f *event.Failure, detail func(room int) (event.Detail, bool)) {
	room := event.MaxDetailBytes
	for _, d := range f.Details {
		room -= len(d.Value)
	}
	if len(f.Details) == maxChain || room <= 0 {
		return
	}
	if d, ok := detail(room); ok {
		f.Details = append(f.Details, d)
	}
}

// addDetails adds those of another failure, as far as they fit.
func addDetails(f *event.Failure, more []event.Detail) {
	for _, d := range more {
		addDetail(f, func(room int) (event.Detail, bool) { return d, len(d.Value) <= room })
	}
}

// gaveWay reports whether an error that a body returned is what a cancel made of it: the
// first of its chain that has a code is [ErrCancelled] itself, or the error of a step or
// child that was asked to give way and did. Another error of the same code is an ordinary
// one.
func gaveWay(err error) bool {
	var first error
	walk(err, func(e error) {
		if first == nil && (registered(e) != "" || codeOf(e) != "") {
			first = e
		}
	})
	switch e := first.(type) {
	case Code:
		return e == ErrCancelled
	case *StepError:
		return e.gaveWay
	case *ExecutionError:
		return e.Status == fold.Cancelled && e.Code == event.CodeCancelled
	}
	return false
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
// and what [RegisterError] knows how to bring back: no other value of the original's
// chain, in no run. An error type of your own is found by its code as well: give it a
// method LoomCode() string, and look for Code(that).
type RecordedError struct {
	Code    string   // stable; see [Code]
	Message string   // the text of the original error
	Chain   []string // codes of its causes, outermost first
	Stack   []string // of a panic, innermost first

	details []event.Detail
}

func recordedOf(f *event.Failure) RecordedError {
	return RecordedError{Code: f.Code, Message: f.Message, Chain: f.Chain, Stack: f.Stack, details: f.Details}
}

// LoomCode returns the recorded code.
func (e *RecordedError) LoomCode() string { return e.Code }

func (e *RecordedError) codes() []string { return e.Chain }

// Is matches a [Code], the errors of the standard library that keep their identity, and
// errors of registered types, anywhere in the recorded chain.
func (e *RecordedError) Is(target error) bool {
	if hasCode(e.Code, target) {
		return true
	}
	for _, c := range e.Chain {
		if hasCode(c, target) {
			return true
		}
	}
	return e.revived(target)
}

// As fills a *[PanicError] or *[TooLargeError] if that is what was recorded, and an error
// of a registered type; see [RegisterError].
func (e *RecordedError) As(target any) bool {
	switch t := target.(type) {
	case **PanicError:
		if e.Code == event.CodePanic && len(e.Stack) > 0 { // one without is an error of this code
			*t = &PanicError{Message: e.Message, Stack: e.Stack}
			return true
		}
	case **TooLargeError:
		if e.Code == event.CodeTooLarge {
			*t = &TooLargeError{What: e.Message}
			return true
		}
	}
	return e.fill(target)
}

func panicError(p *kernel.Panic) *PanicError {
	f := kernel.PanicFailure(p)
	return &PanicError{Message: f.Message, Stack: f.Stack}
}
