package sqlite

import (
	"context"
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Runnable implements store.Index. Its cost is a few index seeks for each flow and
// version of d and for each node that owns something, whatever the number of
// executions. Where more are claimable than d.Limit, unowned and lapsed ones get
// a share each by how long they have been claimable.
func (db *DB) Runnable(ctx context.Context, d store.Demand) (heads []store.Head, next, now event.Time, err error) {
	limit := max(d.Limit, 1)
	flows := slices.Compact(slices.SortedFunc(slices.Values(d.Flows), store.FlowVersion.Compare))
	next = event.Never
	err = db.read(ctx, "runnable", func(c *sqlite3.Conn) error {
		now = db.now()
		var due, lapsed []store.Head
		for _, flow := range flows {
			some, err := db.due(c, flow, now, limit)
			if err != nil {
				return err
			}
			due = append(due, some...)
			wake, err := nextWake(c, flow, now)
			if err != nil {
				return err
			}
			next = min(next, wake)
		}
		slices.SortStableFunc(due, func(a, b store.Head) int { return compare(a.WakeAt, b.WakeAt) })
		lapsed, err := db.lapsed(c, flows, now, limit)
		if err != nil {
			return err
		}
		slices.SortStableFunc(lapsed, func(a, b store.Head) int { return compare(a.Updated, b.Updated) })
		heads = merge(due, lapsed, limit)
		return nil
	})
	if err != nil {
		return nil, 0, 0, err
	}
	return heads, next, now, nil
}

// due returns executions of a flow that nobody owns and whose wake-up is due,
// earliest first.
func (db *DB) due(c *sqlite3.Conn, flow store.FlowVersion, now event.Time, limit int) ([]store.Head, error) {
	st, err := c.Prepare(db.sql.due)
	if err != nil {
		return nil, err
	}
	st.BindText(1, flow.Flow)
	st.BindInt64(2, int64(now))
	st.BindInt64(3, store.MaxStrikes)
	st.BindInt64(4, int64(limit))
	st.BindText(5, flow.Version)
	heads, _, err := scanHeads(st, limit)
	return heads, err
}

func nextWake(c *sqlite3.Conn, flow store.FlowVersion, now event.Time) (event.Time, error) {
	st, err := c.Prepare(sqlNextWake)
	if err != nil {
		return 0, err
	}
	st.BindText(1, flow.Flow)
	st.BindInt64(2, int64(now))
	st.BindText(3, flow.Version)
	ok, err := st.Step()
	if err != nil || !ok {
		return event.Never, err
	}
	wake := event.Time(st.ColumnInt64(0))
	return wake, st.Reset()
}

// lapsed returns executions whose owner is dead. Owners are few, and found by a
// seek each; those without a node row are dead as well.
func (db *DB) lapsed(c *sqlite3.Conn, flows []store.FlowVersion, now event.Time, limit int) ([]store.Head, error) {
	var all []store.Head
	for owner := ""; ; {
		var ok bool
		var err error
		if owner, ok, err = nextOwner(c, owner); err != nil || !ok {
			return all, err
		}
		node, err := nodeRow(c, store.NodeID(owner))
		if err != nil {
			return nil, err
		}
		if db.alive(node, now) {
			continue
		}
		for _, flow := range flows {
			st, err := c.Prepare(db.sql.owned)
			if err != nil {
				return nil, err
			}
			st.BindText(1, owner)
			st.BindText(2, flow.Flow)
			st.BindInt64(3, store.MaxStrikes)
			st.BindInt64(4, int64(limit))
			st.BindInt64(5, int64(now))
			st.BindText(6, flow.Version)
			heads, _, err := scanHeads(st, limit)
			if err != nil {
				return nil, err
			}
			all = append(all, heads...)
		}
	}
}

func nextOwner(c *sqlite3.Conn, after string) (owner string, ok bool, err error) {
	st, err := c.Prepare(sqlNextOwner)
	if err != nil {
		return "", false, err
	}
	st.BindText(1, after)
	if ok, err = st.Step(); err != nil || !ok {
		return "", false, err
	}
	owner = st.ColumnText(0)
	return owner, true, st.Reset()
}

// merge takes from two queues whichever head has waited longer, so that neither
// starves. The order within each stays.
func merge(due, lapsed []store.Head, limit int) []store.Head {
	var out []store.Head
	for len(out) < limit && len(due)+len(lapsed) > 0 {
		// A wake-up of "now" is as old as the commit that asked for it.
		if len(lapsed) == 0 || len(due) > 0 && max(due[0].WakeAt, due[0].Updated) <= lapsed[0].Updated {
			out, due = append(out, due[0]), due[1:]
		} else {
			out, lapsed = append(out, lapsed[0]), lapsed[1:]
		}
	}
	return out
}

func compare(a, b event.Time) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Owned implements store.Index.
func (db *DB) Owned(ctx context.Context, node store.NodeID, mailOnly bool) (heads []store.Head, err error) {
	query := db.sql.ofOne
	if mailOnly {
		query = db.sql.mail
	}
	err = db.read(ctx, "owned", func(c *sqlite3.Conn) error {
		st, err := c.Prepare(query)
		if err != nil {
			return err
		}
		st.BindText(1, string(node))
		heads, _, err = scanHeads(st, int(^uint(0)>>1))
		return err
	})
	return heads, err
}
