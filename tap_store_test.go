package loom_test

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// OpenStore implements store.Source.
func (x *tap) OpenStore(context.Context) (store.Store, func() error, error) {
	s := store.Of(x.db)
	s.Log, s.Index, s.Inbox, s.Leaser = tapLog{x}, tapIndex{x.db, x}, tapInbox{x.db, x}, tapLeaser{x.db, x}
	s.Hints = tapHints{x}
	return s, func() error { return nil }, nil
}

type tapLog struct{ x *tap }

func (l tapLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	reqs = slices.Clone(reqs)
	for i := range reqs {
		if err := l.x.enter(call{op: "commit", id: reqs[i].Execution, req: &reqs[i]}); err != nil {
			return nil, err
		}
	}
	l.x.mu.Lock()
	after, answer := l.x.mu.after, l.x.mu.answer
	l.x.mu.Unlock()
	if answer != nil {
		if res, ok := answer(call{op: "commit", id: reqs[0].Execution, req: &reqs[0]}); ok {
			return []store.Result{res}, nil
		}
	}
	out, err := l.x.db.Commit(ctx, reqs...)
	if err == nil && after != nil {
		for i := range reqs {
			after(call{op: "commit", id: reqs[i].Execution, req: &reqs[i]}, out[i])
		}
	}
	return out, err
}

func (l tapLog) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		if err := l.x.enter(call{op: "read", id: id, rng: r}); err != nil {
			yield(event.Envelope{}, err)
			return
		}
		l.x.mu.Lock()
		fail, lag, less := l.x.mu.noReads, l.x.mu.lag, l.x.mu.less
		l.x.mu.Unlock()
		switch {
		case fail:
			yield(event.Envelope{}, errNoRead)
		case lag != nil && (*lag || !r.Strong):
		case less > 0:
			var all []event.Envelope
			for e := range l.x.db.Read(ctx, id, r) {
				all = append(all, e)
			}
			for _, e := range all[:max(len(all)-less, 0)] {
				if !yield(e, nil) {
					return
				}
			}
		default:
			l.x.db.Read(ctx, id, r)(yield)
		}
	}
}

func (l tapLog) Tip(ctx context.Context, id event.ExecutionID) (store.Tip, error) {
	if err := l.x.enter(call{op: "tip", id: id}); err != nil {
		return store.Absent(), err
	}
	return l.x.db.Tip(ctx, id)
}

type tapIndex struct {
	*memstore.DB
	x *tap
}

func (i tapIndex) Get(ctx context.Context, id event.ExecutionID) (store.Head, bool, error) {
	if err := i.x.enter(call{op: "get", id: id}); err != nil {
		return store.Head{}, false, err
	}
	return i.DB.Get(ctx, id)
}

func (i tapIndex) Runnable(ctx context.Context, d store.Demand) ([]store.Head, event.Time, event.Time, error) {
	if err := i.x.enter(call{op: "runnable"}); err != nil {
		return nil, event.Never, 0, err
	}
	return i.DB.Runnable(ctx, d)
}

func (i tapIndex) Owned(ctx context.Context, node store.NodeID, mailOnly bool) ([]store.Head, error) {
	if err := i.x.enter(call{op: "owned"}); err != nil {
		return nil, err
	}
	return i.DB.Owned(ctx, node, mailOnly)
}

type tapInbox struct {
	*memstore.DB
	x *tap
}

func (i tapInbox) Post(ctx context.Context, to event.ExecutionID, m store.Message) (store.Receipt, error) {
	if err := i.x.enter(call{op: "post", id: to}); err != nil {
		return store.Receipt{}, err
	}
	return i.DB.Post(ctx, to, m)
}

func (i tapInbox) Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) ([]store.Message, int64, error) {
	if err := i.x.enter(call{op: "pending", id: id}); err != nil {
		return nil, 0, err
	}
	return i.DB.Pending(ctx, id, after, limit)
}

type tapLeaser struct {
	*memstore.DB
	x *tap
}

func (l tapLeaser) Renew(ctx context.Context, node store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	if err := l.x.enter(call{op: "renew"}); err != nil {
		return store.Lease{}, err
	}
	return l.DB.Renew(ctx, node, ttl, flows)
}

func (l tapLeaser) Leave(ctx context.Context, node store.NodeID) error {
	if err := l.x.enter(call{op: "leave"}); err != nil {
		return err
	}
	return l.DB.Leave(ctx, node)
}

// tapHints stays silent for a killed process.
type tapHints struct{ x *tap }

func (h tapHints) Await(ctx context.Context, since int64) (int64, error) {
	return h.x.db.Await(ctx, since)
}
