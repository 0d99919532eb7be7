package oddstore

import (
	"context"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// Prefenced is a store in which somebody has taken a newer token for an id that
// nobody has written, as the older system allowed: a start of it is stale, and
// nothing is there.
type Prefenced struct {
	store.Log
	mu    sync.Mutex
	stale map[event.ExecutionID]int
}

// Fence makes the next n starts of id stale.
func (p *Prefenced) Fence(id event.ExecutionID, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale == nil {
		p.stale = map[event.ExecutionID]int{}
	}
	p.stale[id] = n
}

// Commit implements store.Log.
func (p *Prefenced) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	var out []store.Result
	for i := range reqs {
		if r := &reqs[i]; !r.Expect.Exists() && p.refuses(r.Execution) {
			out = append(out, store.Result{Outcome: store.Refused, Refusal: store.RefusedFence, Tip: store.Absent(),
				Err: &seedapi.StaleFenceError{Execution: r.Execution, Token: 1, Current: 2}})
			continue
		}
		res, err := p.Log.Commit(ctx, reqs[i])
		if err != nil {
			return nil, err
		}
		out = append(out, res...)
	}
	return out, nil
}

func (p *Prefenced) refuses(id event.ExecutionID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale[id] == 0 {
		return false
	}
	p.stale[id]--
	return true
}
