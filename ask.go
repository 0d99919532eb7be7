package loom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Ask makes a request of an execution and returns its answer: what the handler returned
// that the execution's body gave to [Serve] under this name. The answer is durable by
// then. Ask waits, across crashes of the node that drives the execution, until there is
// one or there will be none; ctx limits that. It is no verb: call it from outside, or from
// an effect.
//
// With a [MessageID] a repeat, from wherever, is the same request: it is handled once, and
// has one answer. Without one each call is a request of its own.
//
// Errors: an [*AnswerError] with what the handler returned; an [*UnansweredError], which
// matches [ErrEnded], if the execution has ended without an answer; an
// [*InputValidationError] if the answer is not a Res; those of [Runtime.Signal]; the cause
// of ctx's end, after which the request may be handled all the same.
func Ask[Req, Res any](ctx context.Context, r *Runtime, id, name string, req Req, opts ...SignalOption) (Res, error) {
	var zero Res
	raw, err := r.ask(ctx, event.ExecutionID(id), name, req, opts)
	if err != nil {
		return zero, err
	}
	return decode[Res]("answer to request "+name, raw)
}

// AnswerError is the recorded error of a request's handler.
type AnswerError struct {
	ID      event.ExecutionID
	Request string // its message id
	RecordedError
}

func (e *AnswerError) Error() string { return e.Message }

// UnansweredError reports that an execution has ended, and that a request has no answer and
// will have none.
type UnansweredError struct {
	ID      event.ExecutionID
	Request string // its message id
	// Received says that the handler began: what it did is in the log. Otherwise nobody
	// took the request.
	Received bool
}

func (e *UnansweredError) Error() string {
	what := "was not received"
	if e.Received {
		what = "was received"
	}
	return fmt.Sprintf("loom: execution %s has ended without an answer to request %s, which %s", e.ID, e.Request, what)
}

// LoomCode returns the error's stable code, that of [ErrEnded].
func (e *UnansweredError) LoomCode() string { return string(ErrEnded) }

// Is matches [ErrEnded].
func (e *UnansweredError) Is(target error) bool { return target == ErrEnded }

// ask posts a request and follows the log to its answer.
func (r *Runtime) ask(ctx context.Context, id event.ExecutionID, name string, req any, opts []SignalOption) (json.RawMessage, error) {
	message, err := requestName(name)
	if err != nil {
		return nil, err
	}
	if err := id.Validate(); err != nil {
		return nil, err
	}
	m, err := newMessage(name, req, opts, r.tune.MaxPayload)
	if err != nil {
		return nil, err
	}
	m.Name = message
	q := question{id: id}
	if m.ID == "" {
		if err := r.awaitBirth(ctx, id); err != nil {
			return nil, err
		}
		tip, err := r.st.Log.Tip(ctx, id)
		if err != nil {
			return nil, closed(err)
		}
		m.ID, q.from = r.mint(), int64(tip.Head)+1 // what is there already is no answer
	}
	q.request = m.ID
	if q.from == 0 { // an earlier call may have its answer, also from an earlier generation
		if err := q.read(r.st.Log.Read(ctx, id, store.Range{Strong: true})); err != nil {
			return nil, closed(err)
		}
	}
	if q.answer == nil {
		_, err := r.post(ctx, id, m)
		if err == nil || errors.Is(err, ErrEnded) { // it may have been answered before it ended
			err = q.read(r.Follow(ctx, string(id), q.from))
		}
		if err != nil {
			return nil, err
		}
	}
	switch a := q.answer; {
	case a == nil:
		return nil, &UnansweredError{ID: id, Request: m.ID, Received: q.received}
	case a.Error != nil:
		return nil, &AnswerError{ID: id, Request: m.ID, RecordedError: recordedOf(a.Error)}
	default:
		return a.Result, nil
	}
}

// question is what is known of a request.
type question struct {
	id       event.ExecutionID
	request  string
	from     int64 // sequence to read on from
	received bool
	answer   *event.RequestAnswered
}

// read looks for what became of the request in a log, until there is an answer or the log
// is read.
func (q *question) read(log func(yield func(event.Envelope, error) bool)) error {
	for e, err := range log {
		if err != nil {
			return err
		}
		q.from = int64(e.Sequence) + 1
		if e.Kind != event.KindMessageReceived && e.Kind != event.KindRequestAnswered {
			continue
		}
		p, err := e.Decode()
		if err != nil {
			return err
		}
		switch p := p.(type) {
		case event.MessageReceived:
			q.received = q.received || p.Message == q.request
		case event.RequestAnswered:
			if p.Request == q.request {
				q.answer = &p
				return nil
			}
		}
	}
	return nil
}
