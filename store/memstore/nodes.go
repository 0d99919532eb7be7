package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// node is one owner: its lease and its running rows.
type node struct {
	lease store.Lease
	kept  bool // it has a lease, alive or over
	flows map[store.FlowVersion]*tree
	rows  int
	mail  map[*row]struct{} // rows with unseen mail
}

func (n *node) alive(now event.Time) bool { return n.kept && now < n.lease.Expires }

func (n *node) tree(flow store.FlowVersion) *tree {
	t := n.flows[flow]
	if t == nil {
		t = &tree{owner: n}
		n.flows[flow] = t
	}
	return t
}

// keepLapsed is how long a lease is shown after its end.
const keepLapsed = time.Hour

// Renew implements store.Leaser. Nothing waits here, so there is nothing to
// overtake.
func (db *DB) Renew(ctx context.Context, id store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	if err := db.lock(ctx); err != nil {
		return store.Lease{}, err
	}
	defer db.mu.Unlock()
	n := db.node(id)
	if !n.kept {
		n.kept = true
		n.lease.Started = db.now
		db.sweep()
	}
	n.lease.Expires = db.now.Add(ttl)
	n.lease.Flows = slices.Clone(flows)
	return db.read(n), nil
}

// Leave implements store.Leaser. The lease is no longer listed.
func (db *DB) Leave(ctx context.Context, id store.NodeID) error {
	if err := db.lock(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	if n := db.nodes[id]; n != nil && n.kept {
		n.kept = false
		n.lease.Expires = min(n.lease.Expires, db.now)
		db.forget(n)
		db.touch()
	}
	return nil
}

// Nodes implements store.Leaser. Leases that have been over for an hour, of
// nodes that own nothing, are no longer kept.
func (db *DB) Nodes(ctx context.Context) ([]store.Lease, error) {
	if err := db.lock(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []store.Lease
	for _, n := range db.byID {
		if n.kept {
			out = append(out, db.read(n))
		}
	}
	return out, nil
}

func (db *DB) read(n *node) store.Lease {
	l := n.lease
	l.Flows = slices.Clone(l.Flows)
	l.Now, l.Alive = db.now, n.alive(db.now)
	return l
}

// node returns the node with this id, new if need be.
func (db *DB) node(id store.NodeID) *node {
	n := db.nodes[id]
	if n == nil {
		n = &node{lease: store.Lease{Node: id}, flows: map[store.FlowVersion]*tree{}, mail: map[*row]struct{}{}}
		db.nodes[id] = n
		i, _ := db.place(id)
		db.byID = slices.Insert(db.byID, i, n)
	}
	return n
}

// forget drops a node that has neither a lease nor a row.
func (db *DB) forget(n *node) {
	if n.kept || n.rows > 0 {
		return
	}
	delete(db.nodes, n.lease.Node)
	if i, ok := db.place(n.lease.Node); ok {
		db.byID = slices.Delete(db.byID, i, i+1)
	}
}

// sweep drops leases that nobody needs to see any more.
func (db *DB) sweep() {
	for _, n := range slices.Clone(db.byID) {
		if n.rows == 0 && n.lease.Expires.Add(keepLapsed) < db.now && n.lease.Started < db.now {
			n.kept = false
			db.forget(n)
		}
	}
}

func (db *DB) place(id store.NodeID) (int, bool) {
	return slices.BinarySearchFunc(db.byID, id, func(n *node, id store.NodeID) int {
		return strings.Compare(string(n.lease.Node), string(id))
	})
}
