package oddstore

import (
	"context"
	"iter"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Scoped keeps its executions under prefixed ids in the store below, and shows
// them without the prefix, with one exception: a conflict names the id that it
// wrote. It has the parts that a runtime needs.
func Scoped(s store.Store, prefix string) store.Store {
	x := scope{event.ExecutionID(prefix)}
	return store.Store{Log: scopedLog{s.Log, x}, Index: scopedIndex{s.Index, x}, Inbox: scopedInbox{s.Inbox, x}, Leaser: s.Leaser}
}

type scope struct{ prefix event.ExecutionID }

func (x scope) in(id event.ExecutionID) event.ExecutionID { return x.prefix + id }

func (x scope) out(id event.ExecutionID) event.ExecutionID {
	return event.ExecutionID(strings.TrimPrefix(string(id), string(x.prefix)))
}

func (x scope) heads(hs []store.Head) (out []store.Head) {
	for _, h := range hs {
		if strings.HasPrefix(string(h.Execution), string(x.prefix)) {
			h.Execution = x.out(h.Execution)
			out = append(out, h)
		}
	}
	return out
}

type scopedLog struct {
	store.Log
	scope
}

func (l scopedLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	inner := make([]store.Request, len(reqs))
	for i, r := range reqs {
		r.Execution = l.in(r.Execution)
		r.Events = append([]event.Envelope(nil), r.Events...)
		for k := range r.Events {
			r.Events[k].Execution = l.in(r.Events[k].Execution)
		}
		r.Post = append([]store.Post(nil), r.Post...)
		for k := range r.Post {
			r.Post[k].To = l.in(r.Post[k].To)
		}
		inner[i] = r
	}
	res, err := l.Log.Commit(ctx, inner...)
	for i := range res {
		if res[i].Outcome == store.Refused {
			res[i].Err = named(&inner[i], inner[i].Execution, res[i])
		}
	}
	return res, err
}

func (l scopedLog) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		for e, err := range l.Log.Read(ctx, l.in(id), r) {
			e.Execution = l.out(e.Execution)
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l scopedLog) Tip(ctx context.Context, id event.ExecutionID) (store.Tip, error) {
	return l.Log.Tip(ctx, l.in(id))
}

type scopedIndex struct {
	store.Index
	scope
}

func (i scopedIndex) Get(ctx context.Context, id event.ExecutionID) (store.Head, bool, error) {
	h, ok, err := i.Index.Get(ctx, i.in(id))
	h.Execution = i.out(h.Execution)
	return h, ok, err
}

func (i scopedIndex) List(ctx context.Context, q store.Query) ([]store.Head, string, error) {
	q.Prefix = string(i.prefix) + q.Prefix
	hs, next, err := i.Index.List(ctx, q)
	return i.heads(hs), next, err
}

func (i scopedIndex) Runnable(ctx context.Context, d store.Demand) ([]store.Head, event.Time, event.Time, error) {
	hs, next, now, err := i.Index.Runnable(ctx, d)
	return i.heads(hs), next, now, err
}

func (i scopedIndex) Owned(ctx context.Context, node store.NodeID, mailOnly bool) ([]store.Head, error) {
	hs, err := i.Index.Owned(ctx, node, mailOnly)
	return i.heads(hs), err
}

type scopedInbox struct {
	store.Inbox
	scope
}

func (i scopedInbox) Post(ctx context.Context, to event.ExecutionID, m store.Message) (store.Receipt, error) {
	return i.Inbox.Post(ctx, i.in(to), m)
}

func (i scopedInbox) Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) ([]store.Message, int64, error) {
	return i.Inbox.Pending(ctx, i.in(id), after, limit)
}
