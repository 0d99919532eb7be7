package loom

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// PendingMessage is a message that no [Await] has received.
type PendingMessage struct {
	ID     string
	Name   string
	Body   json.RawMessage
	Posted time.Time // by the store's clock
}

// Pending yields the messages that wait in an execution's inbox, in the order in which they
// came; for one that has ended, those that nobody has received, nor ever will. What Loom
// sends itself, requests of [Ask] included, is not among them. Errors: [ErrNotFound],
// [ErrClosed], an [*IDError], the store's; after one it ends.
func (r *Runtime) Pending(ctx context.Context, id string) iter.Seq2[PendingMessage, error] {
	return func(yield func(PendingMessage, error) bool) {
		if err := event.ExecutionID(id).Validate(); err != nil {
			yield(PendingMessage{}, err)
			return
		}
		if _, err := r.Summary(ctx, id); err != nil {
			yield(PendingMessage{}, err)
			return
		}
		for m, err := range r.inbox(ctx, event.ExecutionID(id)) {
			if err != nil {
				yield(PendingMessage{}, closed(err))
				return
			}
			if strings.HasPrefix(m.Name, reserved) {
				continue
			}
			if !yield(PendingMessage{ID: m.ID, Name: m.Name, Body: m.Body, Posted: m.Posted.Time()}, nil) {
				return
			}
		}
	}
}

// inbox yields all that is in an execution's inbox, by number; after an error it ends.
func (r *Runtime) inbox(ctx context.Context, id event.ExecutionID) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for after := int64(0); ; {
			ms, _, err := r.st.Inbox.Pending(ctx, id, after, mailPage)
			if err != nil {
				yield(store.Message{}, err)
				return
			}
			for _, m := range ms {
				if !yield(m, nil) {
					return
				}
				after = m.N
			}
			if len(ms) < mailPage {
				return
			}
		}
	}
}

// LeftoverError is what [Hooks.OnWarn] is told when an execution ends with messages that
// nobody received. They stay where they are: [Runtime.Pending] has them, also where nobody
// heard of it because the node died, or [Runtime.Terminate] ended the execution.
type LeftoverError struct {
	ID    event.ExecutionID
	Count int      // of the messages
	Names []string // of the messages, each once, in the order in which the first came; 64 at the most
}

func (e *LeftoverError) Error() string {
	return fmt.Sprintf("loom: execution %s has ended, and nobody received %d messages: %s", e.ID, e.Count, strings.Join(e.Names, ", "))
}

// LoomCode returns the error's stable code.
func (e *LeftoverError) LoomCode() string { return "leftover" }
