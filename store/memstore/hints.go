package memstore

import "context"

// Await implements store.Hints. The version moves with every commit, post and
// deletion, and as a node leaves.
func (db *DB) Await(ctx context.Context, since int64) (int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return since, err
		}
		db.mu.Lock()
		version, changed := db.version, db.changed
		if version == since && changed == nil {
			changed = make(chan struct{})
			db.changed = changed
		}
		db.mu.Unlock()
		if version != since {
			return version, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return since, ctx.Err()
		}
	}
}

// touch moves the version and wakes who waits for it. It needs mu.
func (db *DB) touch() {
	db.version++
	if db.changed != nil {
		close(db.changed)
		db.changed = nil
	}
}
