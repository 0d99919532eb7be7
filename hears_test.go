package loom_test

import (
	"fmt"
	"slices"
	"sync"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// hears records what the hooks of one runtime hear, by execution: "event 3",
// "durable 3", "aborted 3", "storage-error", "warn".
type hears struct {
	mu     sync.Mutex
	heard  map[string][]string
	events map[string][]event.Envelope
	causes map[string][]error
}

func (h *hears) note(id event.ExecutionID, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.heard == nil {
		h.heard, h.events, h.causes = map[string][]string{}, map[string][]event.Envelope{}, map[string][]error{}
	}
	h.heard[string(id)] = append(h.heard[string(id)], what)
}

func (h *hears) hooks() loom.Hooks {
	cause := func(id event.ExecutionID, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.causes[string(id)] = append(h.causes[string(id)], err)
	}
	return loom.Hooks{
		OnEvent: func(e event.Envelope) {
			h.note(e.Execution, fmt.Sprint("event ", e.Sequence))
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events[string(e.Execution)] = append(h.events[string(e.Execution)], e)
		},
		OnDurable: func(e event.Envelope) { h.note(e.Execution, fmt.Sprint("durable ", e.Sequence)) },
		OnAborted: func(id event.ExecutionID, from event.Seq, err error) {
			h.note(id, fmt.Sprint("aborted ", from))
			cause(id, err)
		},
		OnStorageError: func(id event.ExecutionID, err error) { h.note(id, "storage-error"); cause(id, err) },
		OnWarn:         func(id event.ExecutionID, err error) { h.note(id, "warn"); cause(id, err) },
	}
}

// all returns what was heard of an execution.
func (h *hears) all(id string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.heard[id])
}

// seen returns the events of which OnEvent told.
func (h *hears) seen(id string) []event.Envelope {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events[id])
}

// errs returns the errors that came with what was heard.
func (h *hears) errs(id string) []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.causes[id])
}
