package oddstore

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Blind cannot read logs back, while all else works.
type Blind struct {
	store.Log
	// Err returns what a read fails with; it may wait until ctx ends, like a store
	// that does not answer. nil for reads that work.
	Err func(ctx context.Context) error
}

// Read implements store.Log.
func (b *Blind) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		if b.Err != nil {
			yield(event.Envelope{}, b.Err(ctx))
			return
		}
		b.Log.Read(ctx, id, r)(yield)
	}
}

// Lagging reads from a replica that is behind: a log shows what it had at the
// last [Lagging.CatchUp], and nothing if it did not exist then. Commits and tips
// are the writer's.
type Lagging struct {
	store.Log
	// HonoursStrong makes a strong read go to the writer, as it should.
	HonoursStrong bool

	mu     sync.Mutex
	behind map[event.ExecutionID]event.Seq // heads as last seen
}

// CatchUp makes the replica see these logs as they are now.
func (l *Lagging) CatchUp(ctx context.Context, ids ...event.ExecutionID) error {
	for _, id := range ids {
		tip, err := l.Log.Tip(ctx, id)
		if err != nil {
			return err
		}
		l.mu.Lock()
		if l.behind == nil {
			l.behind = map[event.ExecutionID]event.Seq{}
		}
		l.behind[id] = tip.Head
		l.mu.Unlock()
	}
	return nil
}

// Read implements store.Log.
func (l *Lagging) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	if r.Strong && l.HonoursStrong {
		return l.Log.Read(ctx, id, r)
	}
	l.mu.Lock()
	head, seen := l.behind[id]
	l.mu.Unlock()
	return func(yield func(event.Envelope, error) bool) {
		for e, err := range l.Log.Read(ctx, id, r) {
			if err == nil && (!seen || e.Sequence > head) || !yield(e, err) {
				return
			}
		}
	}
}

// Rangeless cannot read a piece of a log: whatever is asked for, it reads from
// sequence 0 to the end.
type Rangeless struct {
	store.Log
	mu    sync.Mutex
	taken []int
}

// Taken returns of each read how many events its reader took.
func (l *Rangeless) Taken() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.taken)
}

// Read implements store.Log, and breaks it.
func (l *Rangeless) Read(ctx context.Context, id event.ExecutionID, _ store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		l.mu.Lock()
		at := len(l.taken)
		l.taken = append(l.taken, 0)
		l.mu.Unlock()
		for e, err := range l.Log.Read(ctx, id, store.Range{Strong: true}) {
			l.mu.Lock()
			l.taken[at]++
			l.mu.Unlock()
			if !yield(e, err) {
				return
			}
		}
	}
}
