package sqlite

import (
	"context"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// deleteAtOnce is how many events, and how many messages, one call of Delete
// removes: so long the writer is kept from commits.
const deleteAtOnce = 2000

// Delete implements store.Deleter. Events go from the end, so that sequence 0,
// which bears the anchor, goes last. Where there are no incarnations the head row
// stays, invisible, as the floor for the tokens of the next execution of the id.
func (db *DB) Delete(ctx context.Context, id event.ExecutionID, tip store.Tip) (bool, error) {
	type answer struct {
		done    bool
		refused error
	}
	got := new(answer)
	err := db.writer.do(ctx, "delete", false, func(t *tx) (err error) {
		*got = answer{}
		got.done, got.refused, err = t.drop(id, tip)
		return err
	})
	if err != nil {
		return false, err
	}
	return got.done, db.wrap("delete", got.refused)
}

func (t *tx) drop(id event.ExecutionID, tip store.Tip) (done bool, refused, err error) {
	row, err := t.row(id)
	switch {
	case err != nil:
		return false, nil, err
	case row == nil || row.gone:
		return true, nil, nil
	case row.State != store.StateDeleting:
		return false, fmt.Errorf("%w: %s is %s, not deleting", store.ErrRefused, id, row.State), nil
	case row.Tip.Anchor != tip.Anchor:
		return false, fmt.Errorf("%w: %s is another incarnation", store.ErrRefused, id), nil
	}
	for _, piece := range []struct{ last, drop string }{{sqlLastMessage, sqlDropMessages}, {sqlLastKept, sqlDropEvents}} {
		// The rest that would stay below this call's share, if there is one.
		more, from, err := t.first(piece.last, row.key, deleteAtOnce)
		if err != nil {
			return false, nil, err
		}
		if more {
			from++
		}
		if err := t.exec(piece.drop, row.key, from); err != nil {
			return false, nil, err
		}
		if more {
			return false, nil, nil
		}
	}
	if err := t.dropPairs(row.key); err != nil {
		return false, nil, err
	}
	if t.db.schema < schemaIncarnation {
		return true, nil, t.exec(sqlLeaveFloor, row.key)
	}
	return true, nil, t.exec(sqlDropHead, row.key)
}

// first returns the number in the first column of the first row.
func (t *tx) first(query string, args ...int64) (ok bool, n int64, err error) {
	st, err := t.conn.Prepare(query)
	if err != nil {
		return false, 0, err
	}
	for i, a := range args {
		st.BindInt64(i+1, a)
	}
	if ok, err = st.Step(); err != nil || !ok {
		return false, 0, err
	}
	n = st.ColumnInt64(0)
	return true, n, st.Reset()
}
