package store

import (
	"context"

	"github.com/loomwork/loom/event"
)

// Records keeps small versioned values: schedules, cursors, policy state.
type Records interface {
	// Get returns the record; ok is false if there is none.
	Get(ctx context.Context, space, name string) (r Record, ok bool, err error)
	// Put writes body if the record's version is version (0: it does not exist)
	// and returns the new version, version + 1. Otherwise ok is false and nothing
	// is written.
	Put(ctx context.Context, space, name string, version int64, body []byte) (now int64, ok bool, err error)
	// Delete removes the record if its version is version; ok as in Put.
	Delete(ctx context.Context, space, name string, version int64) (ok bool, err error)
	// List returns the records of a space whose names are above after, by name, at
	// most limit.
	List(ctx context.Context, space, after string, limit int) ([]Record, error)
}

// Record is one versioned value. Its version starts at 1.
type Record struct {
	Space, Name string
	Version     int64
	Body        []byte
	Updated     event.Time
}
