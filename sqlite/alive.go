package sqlite

import (
	"sync"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// alive is the verdict on a node: n is its row as a transaction sees it, nil for
// none; now is the store's clock in that transaction.
//
// The clock is the machine's and may jump, so an expiry alone proves neither
// life nor death while an OS lock can be asked.
func (db *DB) alive(n *node, now event.Time) bool {
	if n == nil {
		return false
	}
	inTime := n.Expires > now
	if db.o.noLocks || !n.locked {
		return inTime
	}
	if db.locks.probe(n.Node) == lockFree {
		return false
	}
	// Held, or its file is missing, which proves nothing: somebody tidied up. A
	// lease that ends more than a ttl from now was given before the clock was set
	// back, and could keep a stopped node alive for hours.
	if inTime && now.Add(n.ttl) >= n.Expires {
		db.watch.forget(n.Node)
		return true
	}
	return !db.watch.stale(n)
}

// watch is what this process has seen of leases that are over by the clock while
// their lock is held. A clock that jumps forward by hours ends all leases at
// once; a node that lives renews within its ttl, one that is stopped does not.
type watch struct {
	mono func() time.Duration // monotonic

	mu struct {
		sync.Mutex
		seen map[store.NodeID]sighting
	}
}

type sighting struct {
	expires event.Time
	since   time.Duration
}

// stale reports whether this very lease was seen first at least one ttl of
// monotonic time ago.
func (w *watch) stale(n *node) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.mono()
	s, ok := w.mu.seen[n.Node]
	if !ok || s.expires != n.Expires {
		if w.mu.seen == nil {
			w.mu.seen = map[store.NodeID]sighting{}
		}
		w.mu.seen[n.Node] = sighting{n.Expires, at}
		return false
	}
	return at-s.since >= n.ttl
}

func (w *watch) forget(id store.NodeID) {
	w.mu.Lock()
	delete(w.mu.seen, id)
	w.mu.Unlock()
}
