package loom

import (
	"context"
	"errors"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// letterOfStart is a message that a start brings with it.
type letterOfStart struct {
	v    any
	opts []SignalOption
	m    store.Message
}

// WithSignal sends the execution a message with its start: the commit that creates it
// puts the message into its inbox, so that there is never one without the other. Its
// options are those of [Runtime.Signal], which says what becomes of the message.
//
// A start that is refused because the id exists sends nothing. [Flow.SignalWithStart]
// sends the message then, to what is there.
func WithSignal(name string, v any, opts ...SignalOption) StartOption {
	return func(s *startSpec) {
		s.mail = append(s.mail, letterOfStart{v: v, opts: opts, m: store.Message{Name: name}})
	}
}

// writeMail writes the messages down that go with the start.
func (s *startSpec) writeMail(limit int) error {
	if len(s.mail) > maxPairs {
		return &InputValidationError{What: "messages of a start", Err: fmt.Errorf("are %d, the limit is %d", len(s.mail), maxPairs)}
	}
	for i := range s.mail {
		l := &s.mail[i]
		m, err := newMessage(l.m.Name, l.v, l.opts, limit)
		if err != nil {
			return err
		}
		l.m = m
	}
	return nil
}

// posts are the messages that go with the start.
func (s *startSpec) posts() (posts []store.Post) {
	for _, l := range s.mail {
		posts = append(posts, store.Post{To: s.id, Message: l.m})
	}
	return posts
}

// SignalStartOption is a [StartOption] or a [SignalOption]: what
// [Flow.SignalWithStart] takes.
type SignalStartOption interface{ signalStart(*signalStart) }

type signalStart struct {
	start  []StartOption
	signal []SignalOption
}

func (o StartOption) signalStart(s *signalStart)  { s.start = append(s.start, o) }
func (o SignalOption) signalStart(s *signalStart) { s.signal = append(s.signal, o) }

// signalStartTries is how often an execution may come and go between the two halves of a
// [Flow.SignalWithStart].
const signalStartTries = 8

// SignalWithStart sends a message to the execution of this id, and starts it with input in
// if there is none: one of the two, in one commit, whoever else starts it at the same time.
// started tells which. The options for a start count for nothing if there is one.
//
// With a [MessageID] a repeat is harmless, whatever became of the first call: the message
// is received once. started is then that of the call that returns.
//
// Errors: those of [Flow.Start] and [Runtime.Signal]; an [*ExecutionAlreadyExistsError] if
// the id is that of another flow's execution; [ErrEnded] if the execution has ended, and
// did not have the message before.
func (f *Flow[In, Out]) SignalWithStart(ctx context.Context, r *Runtime, id string, in In, name string, v any, opts ...SignalStartOption) (run *Run[Out], started bool, err error) {
	var o signalStart
	for _, opt := range opts {
		opt.signalStart(&o)
	}
	m, err := newMessage(name, v, o.signal, r.tune.MaxPayload)
	if err != nil {
		return nil, false, err
	}
	if m.ID == "" {
		m.ID = r.mint() // one for both halves
	}
	start := append(o.start[:len(o.start):len(o.start)], ID(id), WithSignal(name, v, MessageID(m.ID)))
	for range signalStartTries {
		run, err = f.Start(ctx, r, in, start...)
		var there *ExecutionAlreadyExistsError
		if !errors.As(err, &there) {
			return run, err == nil, err
		}
		if there.Flow != f.name {
			return nil, false, err
		}
		_, err = r.post(ctx, event.ExecutionID(id), m)
		if errors.Is(err, ErrEnded) && r.hasHad(ctx, event.ExecutionID(id), m.ID) {
			err = nil
		}
		if err == nil {
			return &Run[Out]{rt: r, id: event.ExecutionID(id)}, false, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, false, err
		}
		// It was deleted meanwhile: the id is free again.
	}
	return nil, false, err
}

// hasHad reports whether a message is in an execution's log, or was left in its inbox when
// it ended. A store that does not answer is a no.
func (r *Runtime) hasHad(ctx context.Context, id event.ExecutionID, message string) bool {
	for e, err := range r.st.Log.Read(ctx, id, store.Range{Strong: true}) {
		if err != nil {
			return false
		}
		if e.Kind != event.KindMessageReceived {
			continue
		}
		if p, err := e.Decode(); err == nil && p.(event.MessageReceived).Message == message {
			return true
		}
	}
	for m, err := range r.inbox(ctx, id) {
		if err != nil {
			return false
		}
		if m.ID == message {
			return true
		}
	}
	return false
}
