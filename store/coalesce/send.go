package coalesce

import (
	"context"
	"errors"
	"fmt"

	"github.com/loomwork/loom/store"
)

// send makes one call of the store of all items, and more if it fails as a whole.
// Each item has its answer then.
func (g *group) send(ctx context.Context, items []*item) {
	s := sending{in: g.Log}
	if !s.piece(ctx, items) {
		Bisect(len(items), func(from, to int) bool { return s.piece(ctx, items[from:to]) })
	}
}

// sending is what one flush has found out about its store.
type sending struct {
	in    store.Log
	went  bool // something was not failed
	full  int  // single requests for which there was no room
	giant error
}

// piece sends items in one call. It reports false if that failed as a whole, in a way
// that may be the fault of one of them.
func (s *sending) piece(ctx context.Context, items []*item) (went bool) {
	if s.full > 1 && !s.went {
		fail(items, nil, s.giant) // there is no room for anything
		return true
	}
	reqs := make([]store.Request, len(items))
	for i, it := range items {
		reqs[i] = it.req
	}
	res, err := s.in.Commit(ctx, reqs...)
	switch {
	case err != nil:
		fail(items, err, err)
	case len(res) != len(items):
		for _, it := range items {
			it.res = store.Result{Outcome: store.Unknown, Err: fmt.Errorf("coalesce: %d results for %d requests", len(res), len(items))}
		}
	default:
		for i, it := range items {
			it.res, it.err = res[i], nil
		}
	}
	for _, it := range items {
		if it.res.Outcome != store.Failed {
			s.went = true
			return true
		}
	}
	if len(items) == 1 && errors.Is(items[0].res.Err, store.ErrFull) {
		s.full, s.giant = s.full+1, items[0].res.Err
	}
	for _, it := range items {
		if !Hopeless(it.res.Err) {
			return false
		}
	}
	return true
}

// fail answers that nothing of items was written; whole is the error of a call that
// attempted nothing.
func fail(items []*item, whole, err error) {
	for _, it := range items {
		it.err, it.res = whole, store.Result{Outcome: store.Failed, Err: err}
	}
}

// hopeless are failures of the store, not of a request.
var hopeless = []error{store.ErrClosed, store.ErrVanished, store.ErrReadOnly, store.ErrBusy, store.ErrUnavailable, store.ErrTooOld,
	context.Canceled, context.DeadlineExceeded}

// Hopeless reports whether a failure was nobody's own, so that it makes no sense to
// try the requests of the call in smaller pieces. A full store is not: what is small
// may still fit.
func Hopeless(err error) bool {
	for _, h := range hopeless {
		if errors.Is(err, h) {
			return true
		}
	}
	return false
}
