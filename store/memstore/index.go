package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Get implements store.Index. Labels and published pairs are shared, see the package comment.
func (db *DB) Get(ctx context.Context, id event.ExecutionID) (store.Head, bool, error) {
	if err := db.lock(ctx); err != nil {
		return store.Head{}, false, err
	}
	defer db.mu.Unlock()
	if r := db.rows[id]; r != nil {
		return r.Head, true, nil
	}
	return store.Head{}, false, nil
}

// Owned implements store.Index. The rows come in the order of creation.
func (db *DB) Owned(ctx context.Context, id store.NodeID, mailOnly bool) ([]store.Head, error) {
	if err := db.lock(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	n := db.nodes[id]
	if n == nil {
		return nil, nil
	}
	var rows []*row
	if mailOnly {
		rows = slices.Collect(maps.Keys(n.mail))
	} else {
		rows = make([]*row, 0, n.rows)
		for _, flow := range slices.SortedFunc(maps.Keys(n.flows), store.FlowVersion.Compare) {
			rows = n.flows[flow].first(rows, event.Never, n.rows)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.key, b.key) })
	return heads(rows), nil
}

// Runnable implements store.Index. Rows of lapsed owners stand between the
// unowned ones, in the order in which they could be had: none is starved by the
// other kind. Limit below 1 is taken as 1.
func (db *DB) Runnable(ctx context.Context, d store.Demand) (hs []store.Head, next, now event.Time, err error) {
	if err := db.lock(ctx); err != nil {
		return nil, event.Never, 0, err
	}
	defer db.mu.Unlock()
	limit := max(d.Limit, 1)
	flows := slices.Compact(slices.SortedFunc(slices.Values(d.Flows), store.FlowVersion.Compare))
	next = event.Never
	var due []*row
	for _, flow := range flows {
		if t := db.wakeups[flow]; t != nil {
			due = t.first(due, db.now, limit)
			next = min(next, t.after(db.now))
		}
	}
	for _, n := range db.byID {
		if n.rows == 0 || n.alive(db.now) {
			continue
		}
		for _, flow := range flows {
			if t := n.flows[flow]; t != nil {
				due = t.first(due, db.now, limit)
			}
		}
	}
	slices.SortFunc(due, func(a, b *row) int {
		return cmp.Or(cmp.Compare(since(a), since(b)), cmp.Compare(a.key, b.key))
	})
	return heads(due[:min(limit, len(due))]), next, db.now, nil
}

// since returns when a runnable row became so.
func since(r *row) event.Time {
	if r.tree.owner != nil {
		return max(r.at, r.tree.owner.lease.Expires)
	}
	return r.at
}

func heads(rows []*row) []store.Head {
	if len(rows) == 0 {
		return nil
	}
	out := make([]store.Head, len(rows))
	for i, r := range rows {
		out[i] = r.Head
	}
	return out
}

// scanStep is how many rows List looks at before it lets others in.
const scanStep = 4096

// List implements store.Index. A page is not one instant: rows may change while
// many are passed over. The token is the incarnation of the page's last row.
func (db *DB) List(ctx context.Context, q store.Query) (hs []store.Head, next string, err error) {
	before := int64(-1)
	if q.After != "" {
		if before, err = strconv.ParseInt(q.After, 10, 64); err != nil || before < 1 {
			return nil, "", fmt.Errorf("memstore: %q is not a place in a list", q.After)
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	last := ""
	for {
		if err := db.lock(ctx); err != nil {
			return nil, "", err
		}
		i := len(db.births)
		if before >= 0 {
			i = db.birth(before)
		}
		stop := max(0, i-scanStep)
		for i--; i >= stop; i-- {
			b := db.births[i]
			if b.row == nil || !matches(b.row, &q) {
				continue
			}
			if len(hs) == limit { // there is one more
				db.mu.Unlock()
				return hs, last, nil
			}
			hs = append(hs, b.row.Head)
			last = strconv.FormatInt(b.key, 10)
		}
		if stop == 0 {
			db.mu.Unlock()
			return hs, "", nil
		}
		before = db.births[stop].key
		db.mu.Unlock()
	}
}

func matches(r *row, q *store.Query) bool {
	if q.Flow != "" && r.Index.Flow != q.Flow ||
		len(q.States) > 0 && !slices.Contains(q.States, r.State) ||
		!strings.HasPrefix(string(r.Execution), q.Prefix) {
		return false
	}
	return holds(r.Index.Labels, q.Labels) && holds(r.Published, q.Published)
}

// holds reports whether all pairs of want are among those that there are.
func holds(there, want map[string]string) bool {
	for name, value := range want {
		if got, ok := there[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// birth returns the place in births of the first row with at least this key.
func (db *DB) birth(key int64) int {
	i, _ := slices.BinarySearchFunc(db.births, key, func(b birth, key int64) int { return cmp.Compare(b.key, key) })
	return i
}

// bury takes a deleted row out of everything that is ordered.
func (db *DB) bury(r *row) {
	db.unfile(r)
	db.births[db.birth(r.key)].row = nil
	db.gone++
	if db.gone > 1024 && db.gone > len(db.births)/2 {
		db.births = slices.DeleteFunc(db.births, func(b birth) bool { return b.row == nil })
		db.gone = 0
	}
}
