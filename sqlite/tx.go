package sqlite

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// tx is a write transaction as a request sees it: the rows as they are now, and
// nothing from an earlier one. It belongs to the writer's goroutine.
type tx struct {
	db   *DB
	conn *sqlite3.Conn
	now  event.Time // the store's clock after the write lock was had

	// verdicts holds what this transaction has found about nodes. No other
	// process can change their rows meanwhile; whoever changes one here drops it.
	verdicts map[store.NodeID]bool
	// broken is the first error met where no error can be returned.
	broken error
}

func (t *tx) begin() {
	t.now = t.db.now()
	clear(t.verdicts)
	t.broken = nil
}

// headRow is a head row with its key, as the judge needs it: index entry and
// creation time are not read, they never change, and published pairs only for a request
// that publishes.
type headRow struct {
	store.Row
	key   int64
	floor store.Fence // with a row of stateGone: its token
	gone  bool
}

// row reads the head row of id, nil for none.
func (t *tx) row(id event.ExecutionID) (*headRow, error) {
	st, err := t.conn.Prepare(t.db.sql.row)
	if err != nil {
		return nil, err
	}
	st.BindText(1, string(id))
	ok, err := st.Step()
	if err != nil || !ok {
		return nil, err
	}
	r := &headRow{key: st.ColumnInt64(0)}
	r.Execution = id
	r.Tip.Head = event.Seq(st.ColumnInt64(1))
	r.Tip.Fence = store.Fence(st.ColumnInt64(2))
	r.Owner = store.NodeID(st.ColumnText(3))
	state := st.ColumnInt64(4)
	r.WakeAt = event.Time(st.ColumnInt64(5))
	r.Mail = st.ColumnInt64(6)
	r.Seen = st.ColumnInt64(7)
	r.Strikes = int(st.ColumnInt64(8))
	r.Updated = event.Time(st.ColumnInt64(9))
	if st.ColumnBytes(10, r.Tip.Mark[:]) != len(r.Tip.Mark) || st.ColumnBytes(11, r.Birth[:]) != len(r.Birth) {
		return nil, corrupt("head row of %s: its mark or birth is no nonce", id)
	}
	r.Tip.Anchor = anchorOf(st, 12, 13, id)
	if state == stateGone {
		r.gone, r.floor = true, r.Tip.Fence
	} else if r.State = store.State(state); r.State.String() == "" || state < 1 || state > int64(store.StateMoving) {
		return nil, corrupt("head row of %s: no state has the number %d", id, state)
	}
	return r, st.Reset()
}

// anchorOf makes the anchor of the row in st: of its incarnation, or if that is
// NULL of its first event, as it was before there were incarnations.
func anchorOf(st *sqlite3.Stmt, incarnation, first int, id event.ExecutionID) store.Anchor {
	if !st.ColumnIsNull(incarnation) {
		return store.IncarnationAnchor(st.ColumnInt64(incarnation))
	}
	return store.LegacyAnchor(event.Envelope{Execution: id, Time: event.Time(st.ColumnInt64(first))})
}

// alive is the verdict on a node within this transaction. After an error it says
// yes, which claims nothing, and the error is in broken.
func (t *tx) alive(node store.NodeID) bool {
	if v, ok := t.verdicts[node]; ok {
		return v
	}
	n, err := nodeRow(t.conn, node)
	if err != nil {
		if t.broken == nil {
			t.broken = err
		}
		return true
	}
	v := t.db.alive(n, t.now)
	if t.verdicts == nil {
		t.verdicts = map[store.NodeID]bool{}
	}
	t.verdicts[node] = v
	return v
}

// update writes what a commit may change of a head row. The ordinary commit of a
// runner changes nothing that an index looks at, and has a statement that says so.
func (t *tx) update(key int64, was, next *store.Row) error {
	if was != nil && was.Owner == next.Owner && was.State == next.State && was.WakeAt == next.WakeAt &&
		was.Seen == next.Seen && was.Mail == next.Mail && was.Tip.Fence == next.Tip.Fence {
		st, err := t.conn.Prepare(sqlAdvance)
		if err != nil {
			return err
		}
		st.BindInt64(1, key)
		st.BindInt64(2, int64(next.Tip.Head))
		st.BindBytes(3, next.Tip.Mark[:])
		st.BindInt64(4, int64(next.Strikes))
		st.BindInt64(5, int64(next.Updated))
		_, err = st.Step()
		return err
	}
	st, err := t.conn.Prepare(sqlUpdate)
	if err != nil {
		return err
	}
	st.BindInt64(1, key)
	st.BindInt64(2, int64(next.Tip.Head))
	st.BindBytes(3, next.Tip.Mark[:])
	st.BindInt64(4, int64(next.Strikes))
	st.BindInt64(5, int64(next.Updated))
	st.BindInt64(6, int64(next.Tip.Fence))
	bindOwner(st, 7, next.Owner)
	st.BindInt64(8, int64(next.State))
	st.BindInt64(9, int64(next.WakeAt))
	st.BindInt64(10, next.Seen)
	st.BindInt64(11, next.Mail)
	_, err = st.Step()
	return err
}

func bindOwner(st *sqlite3.Stmt, i int, owner store.NodeID) {
	if owner == "" {
		st.BindNull(i)
		return
	}
	st.BindText(i, string(owner))
}

// bindBlob keeps nil and empty apart.
func bindBlob(st *sqlite3.Stmt, i int, b []byte) {
	if b == nil {
		st.BindNull(i)
		return
	}
	st.BindBytes(i, b)
}

// columnBlob is the inverse of bindBlob. The caller owns the bytes.
func columnBlob(st *sqlite3.Stmt, col int) []byte {
	n := st.ColumnLen(col)
	if n == 0 && st.ColumnIsNull(col) {
		return nil
	}
	b := make([]byte, n)
	st.ColumnBytes(col, b)
	return b
}

// exec runs a prepared statement with integer arguments.
func (t *tx) exec(query string, args ...int64) error {
	st, err := t.conn.Prepare(query)
	if err != nil {
		return err
	}
	for i, a := range args {
		st.BindInt64(i+1, a)
	}
	_, err = st.Step()
	return err
}
