package memstore

import (
	"context"
	"fmt"
	"iter"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Read implements store.Log. What it yields is the log of the instant at which
// the iteration begins, whatever is committed or deleted meanwhile.
func (db *DB) Read(ctx context.Context, id event.ExecutionID, rng store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		log, err := db.slice(ctx, id, rng)
		for i := range log {
			if i%256 == 255 {
				if err = ctx.Err(); err != nil {
					break
				}
			}
			if !yield(log[i], nil) {
				return
			}
		}
		if err != nil {
			yield(event.Envelope{}, err)
		}
	}
}

func (db *DB) slice(ctx context.Context, id event.ExecutionID, rng store.Range) ([]event.Envelope, error) {
	if err := db.lock(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	r := db.rows[id]
	if r == nil {
		return nil, nil
	}
	log := r.log[min(max(int64(rng.From), 0), int64(len(r.log))):]
	if rng.Limit > 0 && rng.Limit < len(log) {
		log = log[:rng.Limit]
	}
	return log, nil
}

// Tip implements store.Log.
func (db *DB) Tip(ctx context.Context, id event.ExecutionID) (store.Tip, error) {
	if err := db.lock(ctx); err != nil {
		return store.Absent(), err
	}
	defer db.mu.Unlock()
	if r := db.rows[id]; r != nil {
		return r.Tip, nil
	}
	return store.Absent(), nil
}

func refused(id event.ExecutionID, why string) error {
	return fmt.Errorf("memstore: execution %s %s: %w", id, why, store.ErrRefused)
}
