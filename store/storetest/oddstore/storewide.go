package oddstore

import (
	"context"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// StoreWide keeps envelope ids unique over the whole store, beside positions,
// and looks at them first: what collides with one is refused as a conflict that
// names the envelope and shows no row. An id that another execution owns is
// refused although nothing of the refused execution is there.
type StoreWide struct {
	store.Log
	mu    sync.Mutex
	taken map[string]bool
}

// NewStoreWide returns a store-wide index of envelope ids over l. It knows what
// is written through it, and what [StoreWide.Take] says.
func NewStoreWide(l store.Log) *StoreWide { return &StoreWide{Log: l, taken: map[string]bool{}} }

// Take makes an envelope id that of another execution.
func (w *StoreWide) Take(envelope string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[envelope] = true
}

// Free gives an envelope id up.
func (w *StoreWide) Free(envelope string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.taken, envelope)
}

// Commit implements store.Log; it judges envelope ids before anything else.
func (w *StoreWide) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	out := make([]store.Result, 0, len(reqs))
	for i := range reqs {
		if id, taken := w.collides(reqs[i].Events); taken {
			out = append(out, store.Result{Outcome: store.Refused, Refusal: store.RefusedHead, Tip: store.Absent(),
				Err: &seedapi.DuplicateEnvelopeError{ID: id}})
			continue
		}
		res, err := w.Log.Commit(ctx, reqs[i])
		if err != nil {
			return nil, err
		}
		if res[0].Outcome == store.Committed {
			for k := range reqs[i].Events {
				w.Take(reqs[i].Events[k].ID())
			}
		}
		out = append(out, res...)
	}
	return out, nil
}

func (w *StoreWide) collides(es []event.Envelope) (id string, taken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range es {
		if id = es[i].ID(); w.taken[id] {
			return id, true
		}
	}
	return "", false
}
