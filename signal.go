package loom

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// SignalOption changes how [Runtime.Signal] sends: [MessageID].
type SignalOption func(*store.Message)

// MessageID names the message, up to 200 bytes of the grammar of execution ids. A
// message that is sent again under its id, by whomever, is received once; by an execution
// that continues ([ContinueAs]), once in each generation.
func MessageID(id string) SignalOption { return func(m *store.Message) { m.ID = id } }

// Signal sends an execution a message. Once Signal has returned nil the message is
// durable and will be received by the first [Await] of its name that nothing else has
// satisfied, also by one that begins later.
//
// Errors: [ErrNotFound], [ErrEnded], [ErrDeleting]; [*IDError], [*NameError],
// [*InputValidationError], [*TooLargeError] before anything is written; a
// [*StorageWriteError], after which a repeat under the same [MessageID] is safe; the
// cause of ctx's end.
func (r *Runtime) Signal(ctx context.Context, id, name string, v any, opts ...SignalOption) error {
	m, err := newMessage(name, v, opts, r.tune.MaxPayload)
	if err != nil {
		return err
	}
	_, err = r.post(ctx, event.ExecutionID(id), m)
	return err
}

// newMessage writes a message down; limit is in bytes. Without a [MessageID] it has no id
// yet.
func newMessage(name string, v any, opts []SignalOption, limit int) (store.Message, error) {
	m := store.Message{Name: name}
	if err := checkName("message", name); err != nil {
		return m, err
	}
	body, err := encode("message "+name, v, limit)
	if err != nil {
		return m, err
	}
	m.Body = body
	for _, o := range opts {
		o(&m)
	}
	if m.ID != "" {
		if err := event.ExecutionID(m.ID).Validate(); err != nil {
			return m, &NameError{What: "message id", Name: m.ID}
		}
	}
	return m, nil
}

// Cancel asks an execution to give way; reason is for people. It returns once the
// request is durable, not once the execution has ended. In the body, what [Sleep] and
// [Await] wait for ends with [ErrCancelled]; the context of a running effect ends and
// the effect is waited for, because what comes after must know the truth; verbs that
// begin later return [ErrCancelled] and do nothing, but in what the body registered with
// [Cleanup] and [Compensate], which runs once it has returned. See [Runtime.Terminate] for
// the hard form. The errors are those of [Runtime.Signal].
func (r *Runtime) Cancel(ctx context.Context, id, reason string) error {
	body, err := encode("reason", cancelBody{Reason: reason}, event.MaxMessageBytes)
	if err != nil {
		return err
	}
	_, err = r.post(ctx, event.ExecutionID(id), store.Message{Name: cancelMessage, Body: body})
	return err
}

// post puts a message into an execution's inbox and wakes who should look.
func (r *Runtime) post(ctx context.Context, id event.ExecutionID, m store.Message) (rec store.Receipt, err error) {
	if err := id.Validate(); err != nil {
		return rec, err
	}
	if m.ID == "" {
		m.ID = r.mint()
	}
	done, ok := r.begin(id)
	if !ok {
		return rec, ErrClosed
	}
	unowned := false
	defer func() { // once it is off the books, or the scanner passes it over
		if unowned {
			r.scan.Wake()
		}
	}()
	defer done()
	if err := r.awaitBirth(ctx, id); err != nil {
		return rec, err
	}
	sent := r.world.Mono()
	rec, err = r.deliver(ctx, id, m)
	if err != nil {
		return rec, err
	}
	switch rec.Delivery {
	case store.Posted:
	case store.NoSuch:
		return rec, fmt.Errorf("loom: execution %s: %w", id, ErrNotFound)
	case store.Ended:
		return rec, fmt.Errorf("loom: execution %s: %w", id, ErrEnded)
	default:
		return rec, fmt.Errorf("loom: execution %s: %w", id, ErrDeleting)
	}
	r.node.saw(rec.Now, sent)
	if x := r.liveRun(id); x != nil {
		x.nudge()
	} else {
		unowned = rec.Owner == ""
	}
	return rec, nil
}

// deliver posts a message, a few times if the store fails: its id makes a repeat
// harmless.
func (r *Runtime) deliver(ctx context.Context, id event.ExecutionID, m store.Message) (store.Receipt, error) {
	wait := 2 * time.Millisecond
	for try := 1; ; try++ {
		rec, err := r.st.Inbox.Post(ctx, id, m)
		if err == nil {
			return rec, nil
		}
		if ctx.Err() != nil {
			return rec, errors.Join(context.Cause(ctx), err)
		}
		if try == 6 {
			return rec, &StorageWriteError{ID: id, Err: err}
		}
		_ = r.waitFor(ctx, r.world.NewSignal(), wait)
		wait *= 4
	}
}
