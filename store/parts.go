package store

import (
	"context"
	"iter"

	"github.com/loomwork/loom/event"
)

// Deleter removes executions for good.
type Deleter interface {
	// Delete removes rows of an execution whose head row is in state deleting and
	// still has tip's anchor, a bounded number a call; done is true once the head
	// row is gone too, or was never there. A row in another state, or of another
	// anchor, is an error that matches [ErrRefused], and nothing is removed.
	Delete(ctx context.Context, id event.ExecutionID, tip Tip) (done bool, err error)
}

// Trimmer removes the events of a log that a compaction no longer needs.
type Trimmer interface {
	// Trim removes the events of the incarnation anchor between sequence 0 and
	// before, both excluded. Head, sequence 0 and anchor stay.
	Trim(ctx context.Context, id event.ExecutionID, anchor Anchor, before event.Seq) (removed int, err error)
}

// Feed reads all executions' events in an order in which none is missed.
type Feed interface {
	// Since yields the commits after cursor ("" for the beginning) in feed order.
	// A cursor of another epoch is an error that matches [ErrEpoch].
	Since(ctx context.Context, cursor string, limit int) iter.Seq2[FeedItem, error]
	// Register keeps Trim from passing a named reader's cursor.
	Register(ctx context.Context, reader, cursor string) error
}

// FeedItem is one commit in a feed.
type FeedItem struct {
	Cursor      string
	Execution   event.ExecutionID
	First, Last event.Seq
}

// Snapshots keeps folded states, for reading only: a body is never resumed from
// one.
type Snapshots interface {
	Save(ctx context.Context, id event.ExecutionID, anchor Anchor, at event.Seq, state []byte) error
	Latest(ctx context.Context, id event.ExecutionID, anchor Anchor) (at event.Seq, state []byte, err error)
}

// Blobs keeps payloads that are too large for a row.
type Blobs interface {
	PutBlob(ctx context.Context, id event.ExecutionID, name string, body []byte) error
	GetBlob(ctx context.Context, id event.ExecutionID, name string) ([]byte, error)
	DropBlobs(ctx context.Context, id event.ExecutionID, names []string) error
}

// Hints tells that something may have changed, early and without promise. What
// a hint misses, a poll finds.
type Hints interface {
	// Await returns when another process may have written since the version that
	// an earlier call returned (0: return the current one at once), or with ctx.
	Await(ctx context.Context, since int64) (version int64, err error)
}

// About says what a store is.
type About interface {
	// Level returns the SPI level that the store effectively has now; it may be
	// lower than the one it claims.
	Level(ctx context.Context) (Level, error)
	// Epoch returns the store's epoch, a text that changes when the store was
	// restored, promoted, or told to.
	Epoch(ctx context.Context) (string, error)
}
