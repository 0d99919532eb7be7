package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Get implements store.Index, by one statement.
func (db *DB) Get(ctx context.Context, id event.ExecutionID) (h store.Head, ok bool, err error) {
	err = db.read(ctx, "get", func(c *sqlite3.Conn) (err error) {
		h, _, ok, err = getHead(c, db.sql.get, id)
		return err
	})
	return h, ok, err
}

func getHead(c *sqlite3.Conn, query string, id event.ExecutionID) (h store.Head, key int64, ok bool, err error) {
	st, err := c.Prepare(query)
	if err != nil {
		return h, 0, false, err
	}
	st.BindText(1, string(id))
	if ok, err = st.Step(); err != nil || !ok {
		return h, 0, false, err
	}
	if h, key, err = scanHead(st); err != nil {
		return h, 0, false, err
	}
	return h, key, true, st.Reset()
}

// scanHead reads the columns of statements.head.
func scanHead(st *sqlite3.Stmt) (h store.Head, key int64, err error) {
	h.Execution = event.ExecutionID(st.ColumnText(0))
	h.Tip.Head = event.Seq(st.ColumnInt64(1))
	h.Tip.Fence = store.Fence(st.ColumnInt64(2))
	h.Owner = store.NodeID(st.ColumnText(3))
	h.State = store.State(st.ColumnInt64(4))
	h.WakeAt = event.Time(st.ColumnInt64(5))
	h.Mail = st.ColumnInt64(6)
	h.Seen = st.ColumnInt64(7)
	h.Strikes = int(st.ColumnInt64(8))
	if st.ColumnBytes(9, h.Tip.Mark[:]) != len(h.Tip.Mark) {
		return h, 0, corrupt("head row of %s: its mark is no nonce", h.Execution)
	}
	h.Index.Flow, h.Index.Version = st.ColumnText(10), st.ColumnText(11)
	h.Index.Parent = event.ExecutionID(st.ColumnText(12))
	if h.Index.Labels, err = event.DecodeMeta(columnBlob(st, 13)); err != nil {
		return h, 0, corrupt("head row of %s: labels: %v", h.Execution, err)
	}
	if h.Published, err = event.DecodeMeta(columnBlob(st, 19)); err != nil {
		return h, 0, corrupt("head row of %s: published pairs: %v", h.Execution, err)
	}
	h.Created, h.Updated = event.Time(st.ColumnInt64(14)), event.Time(st.ColumnInt64(15))
	h.Tip.Anchor = anchorOf(st, 16, 17, h.Execution)
	return h, st.ColumnInt64(18), nil
}

// scanHeads reads all rows of st, at most limit, and resets it.
func scanHeads(st *sqlite3.Stmt, limit int) (heads []store.Head, lastKey int64, err error) {
	defer st.Reset() // it may stand on a row that is not wanted
	for len(heads) < limit {
		more, err := st.Step()
		if err != nil || !more {
			return heads, lastKey, err
		}
		h, key, err := scanHead(st)
		if err != nil {
			return nil, 0, err
		}
		heads, lastKey = append(heads, h), key
	}
	return heads, lastKey, nil
}

// List implements store.Index. It walks, newest first, over the rows of one label
// value, of one published value, of one state other than completed, or of one flow, in
// this order of preference, and filters by the rest; without any of them over all rows. A
// prefix that few ids have goes before all of these.
func (db *DB) List(ctx context.Context, q store.Query) (heads []store.Head, next string, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	after := int64(1<<63 - 1)
	if q.After != "" {
		if after, err = strconv.ParseInt(q.After, 10, 64); err != nil {
			return nil, "", db.wrap("list", fmt.Errorf("the place to continue after, %q, is none that a list returned", q.After))
		}
	}
	err = db.read(ctx, "list", func(c *sqlite3.Conn) error {
		few := false
		if q.Prefix != "" {
			var err error
			if few, err = fewMatch(c, q.Prefix); err != nil {
				return err
			}
		}
		plan := db.plan(q, few)
		st, err := c.Prepare(plan.query)
		if err != nil {
			return err
		}
		plan.bind(st, after, limit+1)
		var last int64
		heads, last, err = scanHeads(st, limit)
		if err != nil || len(heads) < limit {
			return err
		}
		// The page is full: is there one more?
		if next, err = db.continues(c, plan, last); err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return heads, next, nil
}

// continues returns the place after the row key if a row of the plan follows it,
// else "".
func (db *DB) continues(c *sqlite3.Conn, p plan, key int64) (string, error) {
	st, err := c.Prepare(p.query)
	if err != nil {
		return "", err
	}
	p.bind(st, key, 1)
	more, err := st.Step()
	if err != nil || !more {
		return "", err
	}
	return strconv.FormatInt(key, 10), st.Reset()
}

// fewIDs is how many ids of a prefix are few enough to sort.
const fewIDs = 2000

func fewMatch(c *sqlite3.Conn, prefix string) (bool, error) {
	st, err := c.Prepare(sqlPrefixMatches)
	if err != nil {
		return false, err
	}
	st.BindText(1, prefix)
	st.BindText(2, prefix+"\x7f") // above every character of an id
	st.BindInt64(3, fewIDs)
	if ok, err := st.Step(); err != nil || !ok {
		return false, err
	}
	n := st.ColumnInt64(0)
	return n < fewIDs, st.Reset()
}

// plan is a query for a page of a list, with its arguments but for the first
// (rows below this key) and the last (most rows).
type plan struct {
	query string
	args  []any
}

func (p plan) bind(st *sqlite3.Stmt, after int64, limit int) {
	st.BindInt64(1, after)
	for i, a := range p.args {
		switch a := a.(type) {
		case string:
			st.BindText(i+2, a)
		case int64:
			st.BindInt64(i+2, a)
		}
	}
	st.BindInt64(len(p.args)+2, int64(limit))
}

func (db *DB) plan(q store.Query, fewIDs bool) plan {
	var p plan
	arg := func(a any) string {
		p.args = append(p.args, a)
		return "?" + strconv.Itoa(len(p.args)+1)
	}
	names, shown := slices.Sorted(maps.Keys(q.Labels)), slices.Sorted(maps.Keys(q.Published))
	from, where, order := "loom_heads h NOT INDEXED", "h.key < ?1 AND h.state <> 10", "h.key"
	switch {
	case fewIDs:
		from = "loom_heads h"
		where = "+" + where // by id; the few are sorted
	case len(names) > 0:
		from = "loom_attrs a CROSS JOIN loom_heads h ON h.key = a.key"
		where = "a.name = " + arg(names[0]) + " AND a.value = " + arg(q.Labels[names[0]]) + " AND a.key < ?1 AND h.state <> 10"
		order = "a.key"
		names = names[1:]
	case len(shown) > 0:
		from = "loom_published a CROSS JOIN loom_heads h ON h.key = a.key"
		where = "a.name = " + arg(shown[0]) + " AND a.value = " + arg(q.Published[shown[0]]) + " AND a.key < ?1 AND h.state <> 10"
		order = "a.key"
		shown = shown[1:]
	case len(q.States) == 1 && q.States[0] != store.StateCompleted:
		from = "loom_heads h INDEXED BY loom_heads_state"
		where += " AND h.state <> 2"
	case q.Flow != "":
		from = "loom_heads h INDEXED BY loom_heads_flow"
	}
	if q.Prefix != "" {
		where += " AND h.id >= " + arg(q.Prefix) + " AND h.id < " + arg(q.Prefix+"\x7f")
	}
	for _, name := range names {
		where += " AND EXISTS (SELECT 1 FROM loom_attrs l WHERE l.name = " + arg(name) + " AND l.value = " + arg(q.Labels[name]) +
			" AND l.key = h.key)"
	}
	for _, name := range shown {
		where += " AND EXISTS (SELECT 1 FROM loom_published p WHERE p.name = " + arg(name) + " AND p.value = " + arg(q.Published[name]) +
			" AND p.key = h.key)"
	}
	if len(q.States) == 1 {
		where += " AND h.state = " + arg(int64(q.States[0]))
	} else if len(q.States) > 1 {
		var in []string
		for _, s := range q.States {
			in = append(in, arg(int64(s)))
		}
		where += " AND h.state IN (" + strings.Join(in, ", ") + ")"
	}
	if q.Flow != "" {
		where += " AND h.flow = " + arg(q.Flow)
	}
	p.query = db.sql.head + " FROM " + from + " WHERE " + where + " ORDER BY " + order + " DESC LIMIT ?" + strconv.Itoa(len(p.args)+2)
	return p
}
