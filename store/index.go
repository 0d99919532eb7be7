package store

import (
	"context"

	"github.com/loomwork/loom/event"
)

// Index finds executions by what their head rows say in clear.
type Index interface {
	// Get returns the head row of id; ok is false if there is none. A strong read.
	Get(ctx context.Context, id event.ExecutionID) (h Head, ok bool, err error)

	// List returns head rows, newest creation first, at most q.Limit of them. next
	// continues after the last one; it is "" at the end.
	List(ctx context.Context, q Query) (heads []Head, next string, err error)

	// Runnable returns executions that a node may claim now, at most d.Limit: in
	// state running, of one of d.Flows, with fewer than MaxStrikes strikes, and
	//
	//   - unowned and with a wake-up at or before the store's clock, earliest
	//     first; or
	//   - owned by a node whose lease is over, and not before 2^strikes seconds
	//     (0 for no strikes) after the row's last change.
	//
	// An execution MUST NOT be returned for a flow of its name in another version than
	// its own; no version is a version like any other.
	//
	// next is the earliest wake-up among the unowned of these flows with fewer than
	// MaxStrikes strikes that are not due yet, event.Never if there is none; now is
	// the store's clock.
	Runnable(ctx context.Context, d Demand) (heads []Head, next, now event.Time, err error)

	// Owned returns the running executions of a node; with mailOnly those that
	// have mail beyond what their owner has seen.
	Owned(ctx context.Context, node NodeID, mailOnly bool) ([]Head, error)
}

// MaxStrikes is how often in a row an execution may lose its owner without
// progress before only an operator can claim it.
const MaxStrikes = 8

// Head is a head row.
type Head struct {
	Execution event.ExecutionID
	Tip       Tip
	Owner     NodeID
	State     State
	WakeAt    event.Time // when unowned
	Mail      int64
	Seen      int64
	Strikes   int
	Index     IndexEntry
	// Published is what the execution shows of itself, by key; nil for nothing. Labels
	// are given by who starts it and stay, these are its own and change.
	Published map[string]string
	Created   event.Time // store's clock
	Updated   event.Time // store's clock, last commit
}

// Query selects head rows. Zero fields select all.
type Query struct {
	Flow   string
	States []State
	// Labels must all be there with these values.
	Labels map[string]string
	// Published must all be shown with these values.
	Published map[string]string
	// Prefix is the beginning of the id.
	Prefix string
	// After continues after the place that an earlier call returned as next.
	After string
	// Limit is the most rows, 0 for 100, at most 1000.
	Limit int
}

// Demand says what a node can run.
type Demand struct {
	Flows []FlowVersion // what it knows; repeats are no error
	Limit int           // most rows, at least 1
}
