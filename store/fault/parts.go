package fault

import (
	"context"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// index implements store.Index.
type index struct {
	in store.Index
	i  *Injector
}

func (x index) Get(ctx context.Context, id event.ExecutionID) (h store.Head, ok bool, err error) {
	err = x.i.around(ctx, &Call{Op: Get, Execution: id}, func() error {
		h, ok, err = x.in.Get(ctx, id)
		return err
	})
	return h, ok, err
}

func (x index) List(ctx context.Context, q store.Query) (heads []store.Head, next string, err error) {
	err = x.i.around(ctx, &Call{Op: List}, func() error {
		heads, next, err = x.in.List(ctx, q)
		return err
	})
	return heads, next, err
}

func (x index) Runnable(ctx context.Context, d store.Demand) (heads []store.Head, next, now event.Time, err error) {
	err = x.i.around(ctx, &Call{Op: Runnable}, func() error {
		heads, next, now, err = x.in.Runnable(ctx, d)
		return err
	})
	return heads, next, now, err
}

func (x index) Owned(ctx context.Context, node store.NodeID, mailOnly bool) (heads []store.Head, err error) {
	err = x.i.around(ctx, &Call{Op: Owned, Node: node}, func() error {
		heads, err = x.in.Owned(ctx, node, mailOnly)
		return err
	})
	return heads, err
}

// leaser implements store.Leaser.
type leaser struct {
	in store.Leaser
	i  *Injector
}

func (x leaser) Renew(ctx context.Context, node store.NodeID, ttl time.Duration, flows []string) (l store.Lease, err error) {
	err = x.i.around(ctx, &Call{Op: Renew, Node: node}, func() error {
		l, err = x.in.Renew(ctx, node, ttl, flows)
		return err
	})
	if err != nil {
		return store.Lease{}, err
	}
	return l, nil
}

func (x leaser) Leave(ctx context.Context, node store.NodeID) error {
	return x.i.around(ctx, &Call{Op: Leave, Node: node}, func() error { return x.in.Leave(ctx, node) })
}

func (x leaser) Nodes(ctx context.Context) (ls []store.Lease, err error) {
	err = x.i.around(ctx, &Call{Op: Nodes}, func() error {
		ls, err = x.in.Nodes(ctx)
		return err
	})
	return ls, err
}

// inbox implements store.Inbox.
type inbox struct {
	in store.Inbox
	i  *Injector
}

func (x inbox) Post(ctx context.Context, to event.ExecutionID, m store.Message) (r store.Receipt, err error) {
	err = x.i.around(ctx, &Call{Op: Post, Execution: to}, func() error {
		r, err = x.in.Post(ctx, to, m)
		return err
	})
	if err != nil {
		return store.Receipt{}, err
	}
	return r, nil
}

func (x inbox) Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) (ms []store.Message, mail int64, err error) {
	err = x.i.around(ctx, &Call{Op: Pending, Execution: id}, func() error {
		ms, mail, err = x.in.Pending(ctx, id, after, limit)
		return err
	})
	return ms, mail, err
}

// records implements store.Records.
type records struct {
	in store.Records
	i  *Injector
}

func (x records) Get(ctx context.Context, space, name string) (r store.Record, ok bool, err error) {
	err = x.i.around(ctx, &Call{Op: RecordGet}, func() error {
		r, ok, err = x.in.Get(ctx, space, name)
		return err
	})
	return r, ok, err
}

func (x records) Put(ctx context.Context, space, name string, version int64, body []byte) (now int64, ok bool, err error) {
	err = x.i.around(ctx, &Call{Op: RecordPut}, func() error {
		now, ok, err = x.in.Put(ctx, space, name, version, body)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return now, ok, nil
}

func (x records) Delete(ctx context.Context, space, name string, version int64) (ok bool, err error) {
	err = x.i.around(ctx, &Call{Op: RecordDelete}, func() error {
		ok, err = x.in.Delete(ctx, space, name, version)
		return err
	})
	return ok && err == nil, err
}

func (x records) List(ctx context.Context, space, after string, limit int) (rs []store.Record, err error) {
	err = x.i.around(ctx, &Call{Op: RecordList}, func() error {
		rs, err = x.in.List(ctx, space, after, limit)
		return err
	})
	return rs, err
}

// deleter implements store.Deleter.
type deleter struct {
	in store.Deleter
	i  *Injector
}

func (x deleter) Delete(ctx context.Context, id event.ExecutionID, tip store.Tip) (done bool, err error) {
	err = x.i.around(ctx, &Call{Op: Delete, Execution: id}, func() error {
		done, err = x.in.Delete(ctx, id, tip)
		return err
	})
	return done && err == nil, err
}
