package memstore

import (
	"math"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// row is everything about one execution.
type row struct {
	store.Row
	key   int64 // its incarnation: the order of creation
	log   []event.Envelope
	inbox *inbox // nil while it never had mail

	// Where the row is filed. A row is in at most one tree.
	tree        *tree
	at          event.Time // its place there, with key
	left, right *row
	mailed      bool // also in tree.owner.mail
}

// birth is the place of a row in the order of creation.
type birth struct {
	key int64
	row *row // nil once deleted
}

// append adds events to the log. Logs are short and many, so they grow in small
// steps; readers hold slices of the old array, which is never written again.
func (r *row) append(es []event.Envelope) {
	if need := len(r.log) + len(es); need > cap(r.log) {
		grown := make([]event.Envelope, len(r.log), need+max(2, len(r.log)/2))
		copy(grown, r.log)
		r.log = grown
	}
	r.log = append(r.log, es...)
}

// file puts r where Runnable and Owned look for it, after its head row changed.
func (db *DB) file(r *row) {
	running := r.State == store.StateRunning
	if running && r.Owner != "" {
		at := retryAt(r)
		if r.tree == nil || r.tree.owner == nil || r.tree.owner.lease.Node != r.Owner || r.at != at {
			db.unfile(r)
			db.node(r.Owner).tree(r.Index.Needs()).insert(r, at)
			r.tree.owner.rows++
		}
		if unseen := r.Mail > r.Seen; unseen != r.mailed {
			r.mailed = unseen
			if unseen {
				r.tree.owner.mail[r] = struct{}{}
			} else {
				delete(r.tree.owner.mail, r)
			}
		}
		return
	}
	wakes := running && r.WakeAt != event.Never && r.Strikes < store.MaxStrikes
	if wakes && r.tree != nil && r.tree.owner == nil && r.at == r.WakeAt {
		return
	}
	db.unfile(r)
	if wakes {
		t := db.wakeups[r.Index.Needs()]
		if t == nil {
			t = &tree{}
			db.wakeups[r.Index.Needs()] = t
		}
		t.insert(r, r.WakeAt)
	}
}

// unfile takes r out of the tree and the mail set that it is in.
func (db *DB) unfile(r *row) {
	if r.tree == nil {
		return
	}
	n := r.tree.owner
	r.tree.remove(r)
	if n == nil {
		return
	}
	if r.mailed {
		delete(n.mail, r)
		r.mailed = false
	}
	n.rows--
	db.forget(n)
}

// retryAt returns the place of an owned row among those of its owner: the
// earliest instant at which it may be claimed once the owner's lease is over.
// Rows without strikes stand first and need no refiling as they change.
func retryAt(r *row) event.Time {
	switch {
	case r.Strikes == 0:
		return math.MinInt64
	case r.Strikes >= store.MaxStrikes:
		return event.Never
	}
	return r.Updated.Add(time.Second << r.Strikes)
}
