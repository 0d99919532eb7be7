package main

import (
	"context"
	"sync/atomic"

	"github.com/loomwork/loom/store"
)

// tally counts what a store commits.
type tally struct {
	commits atomic.Int64 // requests that were committed
	events  atomic.Int64 // events of them
}

// counts is a tally at one instant.
type counts struct{ commits, events int64 }

func (t *tally) now() counts { return counts{t.commits.Load(), t.events.Load()} }

// since returns what was counted after was.
func (t *tally) since(was counts) counts {
	now := t.now()
	return counts{now.commits - was.commits, now.events - was.events}
}

// over returns st with its commits counted.
func (t *tally) over(st store.Store) store.Store {
	st.Log = countedLog{st.Log, t}
	return st
}

type countedLog struct {
	store.Log
	t *tally
}

// Commit implements store.Log.
func (l countedLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	results, err := l.Log.Commit(ctx, reqs...)
	for i := range results {
		if results[i].Outcome == store.Committed {
			l.t.commits.Add(1)
			l.t.events.Add(int64(len(reqs[i].Events)))
		}
	}
	return results, err
}
