package sim

import (
	"context"
	"iter"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Record is one call that the backend answered, in the order in which it did: a
// call is one step of the world, so the order is that of the store. What a node
// was told of it may be less.
type Record struct {
	Did       Did
	Node      string // the name of the node that called
	At        time.Duration
	Execution event.ExecutionID

	Request *store.Request   // DidCommit
	Result  store.Result     // DidCommit
	From    event.Seq        // DidRead
	Events  []event.Envelope // DidRead
	Whole   bool             // DidRead: it was read to the log's end
	Tip     store.Tip        // DidTip
	Receipt store.Receipt    // DidPost
	Message store.Message    // DidPost
	Looked  int64            // DidPending: the number up to which all mail was shown
	Err     error            // the backend could not
}

// Did says what a record is of.
type Did uint8

// What records are of.
const (
	DidCommit Did = iota + 1
	DidRead
	DidTip
	DidPost
	DidDelete // the execution is gone
	DidPending
)

// History is everything that a store was asked, and what it answered. A place in
// it, the number of records so far, is an instant for the oracles.
type History struct {
	Records []Record
	world   *World
}

// NewHistory returns an empty history of w's store.
func NewHistory(w *World) *History { return &History{world: w} }

// Pos is the instant now.
func (h *History) Pos() int { return len(h.Records) }

func (h *History) add(r Record) {
	r.At = h.world.now
	h.Records = append(h.Records, r)
	h.world.mix(uint64(r.Did)<<56 ^ uint64(len(r.Events))<<32 ^ uint64(r.Result.Outcome)<<8 ^ uint64(r.Result.Refusal))
	h.world.mixString(string(r.Execution))
}

// Decorator returns what records the calls of one node. It stands next to the
// backend, inside of the faults.
func (h *History) Decorator(node string) store.Decorator {
	return store.Decorator{Name: "history", Rank: store.RankFault, Wrap: func(in store.Store) store.Store {
		out := in
		out.Log = recordedLog{in.Log, h, node}
		if in.Inbox != nil {
			out.Inbox = recordedInbox{in.Inbox, h, node}
		}
		if in.Deleter != nil {
			out.Deleter = recordedDeleter{in.Deleter, h, node}
		}
		return out
	}}
}

type recordedLog struct {
	store.Log
	h    *History
	node string
}

func (l recordedLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	res, err := l.Log.Commit(ctx, reqs...)
	for i := range res {
		q := reqs[i]
		l.h.add(Record{Did: DidCommit, Node: l.node, Execution: q.Execution, Request: &q, Result: res[i], Err: err})
	}
	return res, err
}

func (l recordedLog) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		rec := Record{Did: DidRead, Node: l.node, Execution: id, From: r.From, Whole: true}
		for e, err := range l.Log.Read(ctx, id, r) {
			if err != nil {
				rec.Err = err
			} else {
				rec.Events = append(rec.Events, e)
			}
			if !yield(e, err) {
				rec.Whole = false
				break
			}
		}
		if r.Limit > 0 && len(rec.Events) == r.Limit {
			rec.Whole = false
		}
		l.h.add(rec)
	}
}

func (l recordedLog) Tip(ctx context.Context, id event.ExecutionID) (store.Tip, error) {
	tip, err := l.Log.Tip(ctx, id)
	l.h.add(Record{Did: DidTip, Node: l.node, Execution: id, Tip: tip, Err: err})
	return tip, err
}

type recordedInbox struct {
	store.Inbox
	h    *History
	node string
}

func (x recordedInbox) Post(ctx context.Context, to event.ExecutionID, m store.Message) (store.Receipt, error) {
	r, err := x.Inbox.Post(ctx, to, m)
	x.h.add(Record{Did: DidPost, Node: x.node, Execution: to, Message: m, Receipt: r, Err: err})
	return r, err
}

func (x recordedInbox) Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) ([]store.Message, int64, error) {
	ms, mail, err := x.Inbox.Pending(ctx, id, after, limit)
	looked := mail
	if n := len(ms); n == limit {
		looked = ms[n-1].N
	}
	x.h.add(Record{Did: DidPending, Node: x.node, Execution: id, Looked: looked, Err: err})
	return ms, mail, err
}

type recordedDeleter struct {
	store.Deleter
	h    *History
	node string
}

func (x recordedDeleter) Delete(ctx context.Context, id event.ExecutionID, tip store.Tip) (bool, error) {
	done, err := x.Deleter.Delete(ctx, id, tip)
	if done {
		x.h.add(Record{Did: DidDelete, Node: x.node, Execution: id, Err: err})
	}
	return done, err
}
