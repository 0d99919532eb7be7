package oddstore

import (
	"context"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Legacy makes a store of SPI 2.2.0 out of one of 2.3.0, as third parties may
// still have one: anchors are made of the first event, so two incarnations with
// one creation time have the same, and the tokens of a deleted execution are
// forgotten with it. It has the parts Log, Index, Leaser, Inbox and Deleter.
func Legacy(s store.Store) store.Store {
	l := legacy{s.Log, s}
	return store.Store{Log: l, Index: legacyIndex{s.Index, l}, Leaser: s.Leaser, Inbox: s.Inbox, Deleter: legacyDeleter{s.Deleter, l}}
}

type legacy struct {
	store.Log
	s store.Store
}

// anchor returns the anchor that is shown for an execution that exists.
func (l legacy) anchor(ctx context.Context, id event.ExecutionID) (store.Anchor, error) {
	for e, err := range l.Log.Read(ctx, id, store.Range{Limit: 1, Strong: true}) {
		if err != nil {
			return "", err
		}
		return store.LegacyAnchor(e), nil
	}
	return "", fmt.Errorf("oddstore: %s has a head row and no first event: %w", id, store.ErrCorrupt)
}

// out shows a tip with its legacy anchor.
func (l legacy) out(ctx context.Context, id event.ExecutionID, tip store.Tip) (store.Tip, error) {
	if !tip.Exists() {
		return tip, nil
	}
	var err error
	tip.Anchor, err = l.anchor(ctx, id)
	return tip, err
}

// in gives an expected tip the anchor that the store below has, if the expected
// one is what is shown for it.
func (l legacy) in(ctx context.Context, id event.ExecutionID, tip store.Tip) (store.Tip, error) {
	now, err := l.Log.Tip(ctx, id)
	if err != nil || !now.Exists() {
		return tip, err
	}
	if shown, err := l.anchor(ctx, id); err != nil || shown != tip.Anchor {
		return tip, err
	}
	tip.Anchor = now.Anchor
	return tip, nil
}

func (l legacy) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	var out []store.Result
	for _, r := range reqs { // one by one: each may make what the next expects
		if ctx.Err() != nil && out == nil {
			return nil, context.Cause(ctx)
		}
		var err error
		if r.Expect.Exists() {
			if r.Expect, err = l.in(ctx, r.Execution, r.Expect); err != nil {
				return nil, err
			}
		}
		res, err := l.Log.Commit(ctx, r)
		if err != nil {
			return nil, err
		}
		if res[0].Tip, err = l.out(ctx, r.Execution, res[0].Tip); err != nil {
			return nil, err
		}
		out = append(out, res[0])
	}
	return out, nil
}

func (l legacy) Tip(ctx context.Context, id event.ExecutionID) (store.Tip, error) {
	tip, err := l.Log.Tip(ctx, id)
	if err != nil {
		return tip, err
	}
	return l.out(ctx, id, tip)
}

type legacyIndex struct {
	store.Index
	l legacy
}

func (i legacyIndex) Get(ctx context.Context, id event.ExecutionID) (store.Head, bool, error) {
	h, ok, err := i.Index.Get(ctx, id)
	if err == nil && ok {
		h.Tip, err = i.l.out(ctx, id, h.Tip)
	}
	return h, ok, err
}

func (i legacyIndex) heads(ctx context.Context, hs []store.Head) error {
	for k := range hs {
		tip, err := i.l.out(ctx, hs[k].Execution, hs[k].Tip)
		if err != nil {
			return err
		}
		hs[k].Tip = tip
	}
	return nil
}

func (i legacyIndex) List(ctx context.Context, q store.Query) ([]store.Head, string, error) {
	hs, next, err := i.Index.List(ctx, q)
	if err == nil {
		err = i.heads(ctx, hs)
	}
	return hs, next, err
}

func (i legacyIndex) Runnable(ctx context.Context, d store.Demand) ([]store.Head, event.Time, event.Time, error) {
	hs, next, now, err := i.Index.Runnable(ctx, d)
	if err == nil {
		err = i.heads(ctx, hs)
	}
	return hs, next, now, err
}

func (i legacyIndex) Owned(ctx context.Context, node store.NodeID, mailOnly bool) ([]store.Head, error) {
	hs, err := i.Index.Owned(ctx, node, mailOnly)
	if err == nil {
		err = i.heads(ctx, hs)
	}
	return hs, err
}

type legacyDeleter struct {
	store.Deleter
	l legacy
}

func (d legacyDeleter) Delete(ctx context.Context, id event.ExecutionID, tip store.Tip) (bool, error) {
	tip, err := d.l.in(ctx, id, tip)
	if err != nil {
		return false, err
	}
	return d.Deleter.Delete(ctx, id, tip)
}
