//go:build unix

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/storetest"
)

// TestConformanceGathered: commits that are gathered above the writer's own queue.
func TestConformanceGathered(t *testing.T) {
	direct := opener(t)
	storetest.Run(t, func(ctx context.Context) (storetest.Bench, error) {
		b, err := direct(ctx)
		if err == nil {
			b.Store, err = store.Stack(b.Store, coalesce.New(nil))
		}
		return b, err
	}, storetest.Claim{SPI: "2.3.0"})
}

// guilts are what can be wrong with a request: it is the second start of its execution,
// it comes under an old token, or the file refuses one of its rows.
var guilts = []struct {
	name  string
	data  bool // it is not the judge who finds it
	make  func(t *testing.T, db *DB, id event.ExecutionID) store.Request
	heard func(store.Result) bool
}{
	{"duplicate", false, func(t *testing.T, db *DB, id event.ExecutionID) store.Request {
		commit(t, db, startOf(id))
		return startOf(id)
	}, func(r store.Result) bool { return r.Refusal == store.RefusedHead }},
	{"stale", false, func(t *testing.T, db *DB, id event.ExecutionID) store.Request {
		tip := commit(t, db, startOf(id)).Tip
		commit(t, db, store.Request{Execution: id, Nonce: nonce(), Expect: tip, Claim: &store.Claim{When: store.AnyOwner}})
		return next(id, tip, "")
	}, func(r store.Result) bool { return r.Refusal == store.RefusedFence }},
	{"data error", true, func(t *testing.T, db *DB, id event.ExecutionID) store.Request {
		tip := commit(t, db, startOf(id)).Tip
		raw1(t, db, fmt.Sprintf("INSERT INTO loom_events (key, sequence, kind, ts) SELECT key, 1, 'x', 0 FROM loom_heads WHERE id = '%s'", id))
		return next(id, tip, "")
	}, func(r store.Result) bool { return r.Outcome == store.Failed && errors.Is(r.Err, store.ErrCorrupt) }},
}

// claim H-06: of 64 requests in one flush of the writer, g are guilty. Conflicts cost no
// transaction, one row that the file refuses costs twelve at most, and the innocent are
// committed.
func TestGuiltAmong64(t *testing.T) {
	const n = 64
	for _, kind := range guilts {
		for _, c := range []struct{ g, at, most int }{{1, 0, 13}, {1, 31, 13}, {1, 40, 13}, {1, 63, 13}, {2, 20, 24}, {63, 0, 2*n - 1}, {64, 0, n + 7}} {
			t.Run(fmt.Sprintf("%s/%d/%d", kind.name, c.g, c.at), func(t *testing.T) {
				guilty := map[int]bool{c.at: true}
				for r := rand.New(rand.NewPCG(uint64(c.g), uint64(c.at))); len(guilty) < c.g; {
					guilty[r.IntN(n)] = true
				}
				db := open(t)
				reqs := make([]store.Request, n)
				for i := range reqs {
					id := execution(i)
					if reqs[i] = startOf(id); guilty[i] {
						reqs[i] = kind.make(t, db, id)
					}
				}
				release := hold(db)
				before := db.writer.begun
				got := make([]store.Result, n)
				var all sync.WaitGroup
				for i := range reqs {
					all.Go(func() { got[i] = try(t, db, reqs[i]) })
					eventually(t, "it waits", func() bool { return db.writer.length() == i+1 })
				}
				release()
				all.Wait()
				defer hold(db)()
				begun := db.writer.begun - before
				acks := 0
				for i, r := range got {
					switch {
					case !guilty[i] && r.Outcome == store.Committed:
						acks++
					case !guilty[i] || !kind.heard(r):
						t.Errorf("request %d, guilty %v: %+v", i, guilty[i], r)
					}
				}
				if acks != n-c.g {
					t.Errorf("%d acknowledged", acks)
				}
				if !kind.data {
					c.most = 1
				}
				if begun > c.most {
					t.Errorf("%d transactions, more than %d", begun, c.most)
				}
				t.Logf("%d transactions", begun)
			})
		}
	}
}
