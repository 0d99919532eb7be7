package loom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/loomwork/loom/event"
)

// step is what the shell knows of an effect.
type step struct {
	name     string
	readOnly bool
	once     bool // at most once
	retry    Retry
	timeout  time.Duration
	args     any
	hasArgs  bool
	encoded  json.RawMessage // args as they are recorded
	limit    int
	call     func(context.Context) (json.RawMessage, error)
	verify   verifier // nil for none
	verifies reflect.Type
	asked    int // how often verify has failed in this run
}

// newStep returns a step whose results are a T.
func newStep[T any](b *branch, name string, call func(context.Context) (json.RawMessage, error), opts []StepOption) (*step, error) {
	if err := checkName("step", name); err != nil {
		return nil, err
	}
	s := &step{name: name, limit: b.run.rt.tune.MaxPayload, call: call}
	for _, o := range opts {
		o.step(s)
	}
	if why := s.contradiction(); why != "" {
		return nil, &InputValidationError{What: "options of step " + name, Err: errors.New(why)}
	}
	if t := reflect.TypeFor[T](); s.verify != nil && s.verifies != t {
		return nil, &InputValidationError{What: "options of step " + name,
			Err: fmt.Errorf("Verify answers with a %s and the step's result is a %s", s.verifies, t)}
	}
	if s.hasArgs {
		var err error
		if s.encoded, err = encode("arguments of step "+name, s.args, s.limit); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// contradiction says which options cannot stand together, "" if all can.
func (s *step) contradiction() string {
	switch {
	case s.once && s.retry.Attempts > 1:
		return "AtMostOnce and a Retry of several attempts: a second attempt is a second call"
	case s.once && s.readOnly:
		return "AtMostOnce and ReadOnly: a step without an intent may be called any number of times"
	case s.once && s.verify != nil:
		return "AtMostOnce and Verify: Verify may find that the step has to be called again"
	case s.readOnly && s.verify != nil:
		return "ReadOnly and Verify: a step without an intent leaves nothing to ask about"
	}
	return ""
}

// invalidResult is an effect's result that cannot be written down. The effect was
// called, so it settles, with its own code, and is not repeated.
type invalidResult struct{ err error }

func (e *invalidResult) Error() string    { return e.err.Error() }
func (e *invalidResult) Unwrap() error    { return e.err }
func (e *invalidResult) LoomCode() string { return event.CodeInvalidResult }

func (s *step) encodeResult(v any) (json.RawMessage, error) {
	raw, err := encode("result of step "+s.name, v, s.limit)
	if err == nil {
		return raw, nil
	}
	var large *TooLargeError
	if errors.As(err, &large) {
		return nil, &permanent{err, true}
	}
	return nil, &permanent{&invalidResult{err}, true}
}
