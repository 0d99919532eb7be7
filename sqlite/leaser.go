package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// node is a row of loom_nodes.
type node struct {
	store.Lease
	ttl    time.Duration
	locked bool // it says that it holds an OS lock while its process lives
}

// keepDead is how long the row of a dead node is kept for people to see. A node
// whose free lock proves that its process is gone is not kept beyond its expiry.
const keepDead = time.Hour

// Renew implements store.Leaser. The first renewal also takes the node's OS lock,
// which this process then holds until Leave or Close; a lock that another process
// holds is an error that matches ErrBusy.
func (db *DB) Renew(ctx context.Context, id store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	if id == "" {
		return store.Lease{}, db.wrap("renew", fmt.Errorf("%w: a node needs an id", store.ErrRefused))
	}
	if db.isClosed() {
		return store.Lease{}, db.errClosed("renew")
	}
	// The lock comes before the row: nobody asks for the lock of a node that has
	// no row.
	locked, err := db.locks.hold(id)
	if err != nil {
		return store.Lease{}, db.wrap("renew", err)
	}
	names, err := json.Marshal(flows)
	if err != nil {
		return store.Lease{}, db.wrap("renew", err)
	}
	got := new(store.Lease)
	var pruned []store.NodeID
	err = db.writer.do(ctx, "renew", true, func(t *tx) error {
		delete(t.verdicts, id)
		if err := t.renew(id, ttl, locked, names); err != nil {
			return err
		}
		n, err := nodeRow(t.conn, id)
		if err != nil {
			return err
		}
		n.Now, n.Alive = t.now, true
		*got = n.Lease
		pruned, err = t.prune(id)
		return err
	})
	if err != nil {
		return store.Lease{}, err
	}
	for _, dead := range pruned {
		db.locks.remove(dead)
		db.watch.forget(dead)
	}
	return *got, nil
}

func (t *tx) renew(id store.NodeID, ttl time.Duration, locked bool, flows []byte) error {
	st, err := t.conn.Prepare(sqlRenew)
	if err != nil {
		return err
	}
	st.BindText(1, string(id))
	st.BindInt64(2, int64(t.now))
	st.BindInt64(3, int64(t.now.Add(ttl)))
	st.BindInt64(4, int64(ttl))
	st.BindBool(5, locked)
	st.BindBytes(6, flows)
	_, err = st.Step()
	return err
}

// prune removes the rows of dead nodes that own nothing and that nobody needs to
// see any more, and returns their ids.
func (t *tx) prune(self store.NodeID) (gone []store.NodeID, err error) {
	all, err := nodeRows(t.conn)
	if err != nil {
		return nil, err
	}
	for i := range all {
		n := &all[i]
		if n.Node == self || n.Expires > t.now || t.db.alive(n, t.now) {
			continue
		}
		if n.Expires.Add(keepDead) > t.now && !(n.locked && t.db.locks.probe(n.Node) == lockFree) {
			continue
		}
		if owns, err := t.owns(n.Node); err != nil {
			return nil, err
		} else if owns {
			continue
		}
		if err := t.leave(n.Node); err != nil {
			return nil, err
		}
		gone = append(gone, n.Node)
	}
	return gone, nil
}

func (t *tx) owns(id store.NodeID) (bool, error) {
	st, err := t.conn.Prepare(sqlOwnsSome)
	if err != nil {
		return false, err
	}
	st.BindText(1, string(id))
	ok, err := st.Step()
	if err != nil {
		return false, err
	}
	return ok, st.Reset()
}

func (t *tx) leave(id store.NodeID) error {
	delete(t.verdicts, id)
	st, err := t.conn.Prepare(sqlLeave)
	if err != nil {
		return err
	}
	st.BindText(1, string(id))
	_, err = st.Step()
	return err
}

// Leave implements store.Leaser. It gives up the node's OS lock and removes its
// file.
func (db *DB) Leave(ctx context.Context, id store.NodeID) error {
	if err := db.writer.do(ctx, "leave", false, func(t *tx) error { return t.leave(id) }); err != nil {
		return err
	}
	db.watch.forget(id)
	return db.wrap("leave", db.locks.release(id))
}

// Nodes implements store.Leaser. A node that is dead, owns nothing and expired an
// hour ago, or whose process is known to be gone, is forgotten by the next
// renewal of another.
func (db *DB) Nodes(ctx context.Context) (leases []store.Lease, err error) {
	err = db.read(ctx, "nodes", func(c *sqlite3.Conn) error {
		now := db.now()
		all, err := nodeRows(c)
		if err != nil {
			return err
		}
		for i := range all {
			all[i].Now, all[i].Alive = now, db.alive(&all[i], now)
			leases = append(leases, all[i].Lease)
		}
		return nil
	})
	return leases, err
}

// nodeRow returns the row of a node, nil for none.
func nodeRow(c *sqlite3.Conn, id store.NodeID) (*node, error) {
	st, err := c.Prepare(sqlNode)
	if err != nil {
		return nil, err
	}
	st.BindText(1, string(id))
	ok, err := st.Step()
	if err != nil || !ok {
		return nil, err
	}
	n, err := scanNode(st)
	if err != nil {
		return nil, err
	}
	return &n, st.Reset()
}

func nodeRows(c *sqlite3.Conn) ([]node, error) {
	st, err := c.Prepare(sqlNodes)
	if err != nil {
		return nil, err
	}
	defer st.Reset() // after an unreadable row it stands on it
	var all []node
	for {
		more, err := st.Step()
		if err != nil || !more {
			return all, err
		}
		n, err := scanNode(st)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

func scanNode(st *sqlite3.Stmt) (n node, err error) {
	n.Node = store.NodeID(st.ColumnText(0))
	n.Started, n.Expires = event.Time(st.ColumnInt64(1)), event.Time(st.ColumnInt64(2))
	n.ttl = time.Duration(st.ColumnInt64(3))
	n.locked = st.ColumnBool(4)
	if flows := columnBlob(st, 5); len(flows) > 0 {
		if err := json.Unmarshal(flows, &n.Flows); err != nil {
			return n, corrupt("node %s: flows: %v", n.Node, err)
		}
	}
	return n, nil
}
