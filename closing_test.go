package loom_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// closing is a source whose store refuses everything once it is closed, as a database
// does and memory does not.
type closing struct{ store.Source }

func (c closing) OpenStore(ctx context.Context) (store.Store, func() error, error) {
	s, shut, err := c.Source.OpenStore(ctx)
	var gone atomic.Bool
	s.Log, s.Index = closingLog{s.Log, &gone}, closingIndex{s.Index, &gone}
	return s, func() error { gone.Store(true); return shut() }, err
}

func refuse(gone *atomic.Bool) error {
	if gone.Load() {
		return fmt.Errorf("test: %w", store.ErrClosed)
	}
	return nil
}

type closingLog struct {
	store.Log
	gone *atomic.Bool
}

func (l closingLog) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	if err := refuse(l.gone); err != nil {
		return func(yield func(event.Envelope, error) bool) { yield(event.Envelope{}, err) }
	}
	return l.Log.Read(ctx, id, r)
}

type closingIndex struct {
	store.Index
	gone *atomic.Bool
}

func (i closingIndex) Get(ctx context.Context, id event.ExecutionID) (store.Head, bool, error) {
	if err := refuse(i.gone); err != nil {
		return store.Head{}, false, err
	}
	return i.Index.Get(ctx, id)
}

func (i closingIndex) List(ctx context.Context, q store.Query) ([]store.Head, string, error) {
	if err := refuse(i.gone); err != nil {
		return nil, "", err
	}
	return i.Index.List(ctx, q)
}
