package oddstore

import (
	"context"
	"slices"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// Coalescer gathers requests as the older system did: while it is held they wait
// for each other, and a batch with one bad request is written for nobody:
// everybody in it gets that request's error, which names that request's
// execution, and learns nothing of its own row. A request that asks to travel
// alone is flushed as a batch of one, whoever waits.
//
// It looks before it writes, under one mutex: whoever shares its store writes
// through it. The store needs the parts Index and Leaser.
type Coalescer struct {
	s store.Store

	flushing sync.Mutex // held while a batch is looked at and written

	mu      sync.Mutex // guards what follows
	held    bool
	waiting []*seat
	flushes [][]event.ExecutionID
}

// seat is one call of Commit in a batch.
type seat struct {
	reqs []store.Request
	res  chan []store.Result // holds one
}

// NewCoalescer returns a coalescer over s that is not held.
func NewCoalescer(s store.Store) *Coalescer { return &Coalescer{s: s} }

// Store returns s with this coalescer as its write door.
func (c *Coalescer) Store() store.Store {
	out := c.s
	out.Log = coalescing{c.s.Log, c}
	return out
}

// Hold keeps what comes from now on waiting for the next [Coalescer.Flush].
func (c *Coalescer) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

// Waiting returns the executions in the batch that is held open.
func (c *Coalescer) Waiting() []event.ExecutionID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return idsOf(c.waiting)
}

// Flush sends the batch that was held open, as one, and holds no more.
func (c *Coalescer) Flush() {
	c.mu.Lock()
	batch := c.waiting
	c.waiting, c.held = nil, false
	c.mu.Unlock()
	if len(batch) > 0 {
		c.flush(batch)
	}
}

// Flushes returns the executions of each batch that was sent, in order.
func (c *Coalescer) Flushes() [][]event.ExecutionID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.flushes)
}

type coalescing struct {
	store.Log
	c *Coalescer
}

// Commit implements store.Log, and breaks it: requests share their fate.
func (l coalescing) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s := &seat{reqs: slices.Clone(reqs), res: make(chan []store.Result, 1)}
	alone := slices.ContainsFunc(reqs, func(r store.Request) bool { return r.Alone })
	c := l.c
	c.mu.Lock()
	wait := c.held && !alone
	if wait {
		c.waiting = append(c.waiting, s)
	}
	c.mu.Unlock()
	if !wait {
		c.flush([]*seat{s})
	}
	select {
	case res := <-s.res:
		return res, nil
	case <-ctx.Done(): // it stays in its batch
		res := make([]store.Result, len(reqs))
		for i := range res {
			res[i] = store.Result{Outcome: store.Unknown, Err: context.Cause(ctx)}
		}
		return res, nil
	}
}

func idsOf(batch []*seat) (ids []event.ExecutionID) {
	for _, s := range batch {
		for i := range s.reqs {
			ids = append(ids, s.reqs[i].Execution)
		}
	}
	return ids
}

// flush writes a batch wholly or not at all.
func (c *Coalescer) flush(batch []*seat) {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.mu.Lock()
	c.flushes = append(c.flushes, idsOf(batch))
	c.mu.Unlock()
	var all []store.Request
	for _, s := range batch {
		all = append(all, s.reqs...)
	}
	ctx := context.Background() // a batch is nobody's
	fate, err := c.guilty(ctx, all)
	var res []store.Result
	if err == nil && fate == nil {
		res, err = c.s.Log.Commit(ctx, all...)
	}
	for _, s := range batch {
		out := make([]store.Result, len(s.reqs))
		for i := range out {
			switch {
			case err != nil:
				out[i] = store.Result{Outcome: store.Failed, Err: err}
			case fate != nil:
				out[i] = *fate
			default:
				out[i], res = res[0], res[1:]
			}
		}
		s.res <- out
	}
}

// guilty looks for the first request that would be refused and returns what
// everybody is told, nil if there is none.
func (c *Coalescer) guilty(ctx context.Context, reqs []store.Request) (*store.Result, error) {
	leases, err := c.s.Leaser.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	alive := func(node store.NodeID) bool {
		return slices.ContainsFunc(leases, func(l store.Lease) bool { return l.Node == node && l.Alive })
	}
	var now event.Time
	for _, l := range leases {
		now = max(now, l.Now)
	}
	rows := map[event.ExecutionID]*store.Row{}
	for i := range reqs {
		req := &reqs[i]
		row, looked := rows[req.Execution]
		if !looked {
			h, ok, err := c.s.Index.Get(ctx, req.Execution)
			if err != nil {
				return nil, err
			}
			if ok {
				row = &store.Row{Head: h}
			}
		}
		res, next := store.Judge(row, req, now, alive)
		if res.Outcome == store.Refused {
			return &store.Result{Outcome: store.Refused, Refusal: res.Refusal, Tip: store.Absent(), Now: now, Err: named(req, req.Execution, res)}, nil
		}
		if rows[req.Execution] = row; next != nil {
			rows[req.Execution] = next
		}
	}
	return nil, nil
}

// named returns a refusal as the older system's error, under an id.
func named(req *store.Request, id event.ExecutionID, res store.Result) error {
	switch res.Refusal {
	case store.RefusedHead:
		return &seedapi.DuplicateSequenceError{Execution: id, Sequence: req.Expect.Head + 1}
	case store.RefusedFence:
		return &seedapi.StaleFenceError{Execution: id, Token: req.Expect.Fence, Current: res.Tip.Fence}
	}
	return &seedapi.FailedError{Execution: id, Outcome: res.Outcome, Refusal: res.Refusal, Err: res.Err}
}
