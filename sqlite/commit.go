package sqlite

import (
	"context"
	"maps"
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Commit implements store.Log. Results of requests that the writer has not
// answered when ctx ends are Unknown with ctx's cause; they may still be
// committed. A call that finds the writer idle carries its requests out itself
// and looks at ctx again only after the disk has answered.
func (db *DB) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// A copy: the caller may do with its slice what it likes once ctx has ended
	// its wait, while the writer still reads.
	j := &job{reqs: slices.Clone(reqs), res: make([]store.Result, len(reqs))}
	for i := range reqs {
		for k := range reqs[i].Events {
			j.bytes += reqs[i].Events[k].Size()
		}
	}
	if !db.writer.put(j, false) {
		return nil, db.errClosed("commit")
	}
	if j.wait(ctx) {
		return j.res, nil
	}
	res := make([]store.Result, len(reqs))
	for i := range res {
		res[i] = store.Result{Outcome: store.Unknown, Err: context.Cause(ctx)}
	}
	return res, nil
}

// commit judges one request and writes what the judge returns. After an error
// the transaction has to be undone.
func (t *tx) commit(req *store.Request) (store.Result, error) {
	row, err := t.row(req.Execution)
	if err != nil {
		return store.Result{}, err
	}
	var was *store.Row
	if row != nil && !row.gone {
		was = &row.Row
		if len(req.Publish) > 0 {
			if _, was.Published, err = t.pairs(row.key); err != nil {
				return store.Result{}, err
			}
		}
	}
	res, next := store.Judge(was, req, t.now, t.alive)
	if t.broken != nil {
		return store.Result{}, t.broken
	}
	if next == nil {
		return res, nil
	}
	var key int64
	if was == nil {
		key, err = t.start(row, req, next, &res)
	} else {
		key, err = row.key, t.update(row.key, was, next)
		if err == nil {
			err = t.append(key, req.Events)
		}
	}
	if err != nil {
		return store.Result{}, err
	}
	if len(req.Publish) > 0 {
		var shown map[string]string
		if was != nil {
			shown = was.Published
		}
		if err := t.publish(key, shown, next.Published); err != nil {
			return store.Result{}, err
		}
	}
	for _, n := range req.Consume {
		if err := t.exec(sqlConsume, key, n); err != nil {
			return store.Result{}, err
		}
	}
	for i := range req.Post {
		got, err := t.post(req.Post[i].To, &req.Post[i].Message)
		if err != nil {
			return store.Result{}, err
		}
		if req.Post[i].To == req.Execution && got.Delivery == store.Posted {
			res.Mail = max(res.Mail, got.N)
		}
	}
	return res, nil
}

// start inserts the rows of a new execution and completes next and res with its
// anchor. left is what a deleted execution of the id left behind, or nil.
func (t *tx) start(left *headRow, req *store.Request, next *store.Row, res *store.Result) (key int64, err error) {
	if left != nil {
		// Without incarnations the token alone tells a late writer of the deleted
		// execution from one of this.
		if t.db.schema < schemaIncarnation {
			next.Tip.Fence = left.floor + 1
			res.Tip.Fence = next.Tip.Fence
		}
		if err := t.exec(sqlDropHead, left.key); err != nil {
			return 0, err
		}
	}
	first := &req.Events[0]
	labels := event.EncodeMeta(next.Index.Labels)
	st, err := t.conn.Prepare(sqlInsertHead)
	if err != nil {
		return 0, err
	}
	st.BindText(1, string(req.Execution))
	st.BindInt64(2, int64(next.Tip.Head))
	st.BindInt64(3, int64(next.Tip.Fence))
	st.BindBytes(4, next.Tip.Mark[:])
	st.BindBytes(5, next.Birth[:])
	bindOwner(st, 6, next.Owner)
	st.BindInt64(7, int64(next.State))
	st.BindInt64(8, int64(next.WakeAt))
	st.BindInt64(9, next.Seen)
	st.BindInt64(10, int64(next.Strikes))
	st.BindText(11, next.Index.Flow)
	st.BindText(12, next.Index.Version)
	st.BindText(13, string(next.Index.Parent))
	bindBlob(st, 14, labels)
	st.BindInt64(15, int64(first.Time))
	st.BindInt64(16, int64(next.Created))
	st.BindInt64(17, int64(next.Updated))
	if _, err := st.Step(); err != nil {
		return 0, err
	}
	key = t.conn.LastInsertRowID()
	if err := t.append(key, req.Events); err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(next.Index.Labels)) {
		if err := t.pair(sqlInsertLabel, name, next.Index.Labels[name], key); err != nil {
			return 0, err
		}
	}
	anchor, err := t.stamp(key, first)
	next.Tip.Anchor, res.Tip.Anchor = anchor, anchor
	return key, err
}

// stamp reads back the anchor that sequence 0 has got. The trigger's stamp is in
// no RETURNING clause, and it is the row that counts, not the counter.
func (t *tx) stamp(key int64, first *event.Envelope) (store.Anchor, error) {
	if t.db.schema < schemaIncarnation {
		return store.LegacyAnchor(*first), nil
	}
	st, err := t.conn.Prepare(sqlStamp)
	if err != nil {
		return "", err
	}
	st.BindInt64(1, key)
	ok, err := st.Step()
	if err != nil {
		return "", err
	}
	if !ok || st.ColumnIsNull(0) {
		return "", corrupt("sequence 0 of %s got no incarnation: the trigger loom_events_incarnation is gone", first.Execution)
	}
	anchor := store.IncarnationAnchor(st.ColumnInt64(0))
	return anchor, st.Reset()
}

func (t *tx) append(key int64, events []event.Envelope) error {
	if len(events) == 0 {
		return nil
	}
	for i := range events {
		e := &events[i]
		st, err := t.conn.Prepare(sqlInsertEvent)
		if err != nil {
			return err
		}
		st.BindInt64(1, key)
		st.BindInt64(2, int64(e.Sequence))
		st.BindText(3, string(e.Kind))
		st.BindInt64(4, int64(e.Time))
		bindBlob(st, 5, e.Payload)
		bindBlob(st, 6, e.Meta)
		if _, err := st.Step(); err != nil {
			return taken(err, e)
		}
	}
	return nil
}

// taken says what it means that an event could not be inserted. What is a conflict
// was told from the head row, which this transaction holds: a slot that is taken
// all the same stands beyond the head, and no store wrote it there. The engine
// names its own primary key by a code; any other constraint that fires is one that
// Loom does not know, and neither is ever a refusal.
func taken(err error, e *event.Envelope) error {
	if sqlite3.ErrCode(err) == sqlite3.ResultConstraintPrimaryKey {
		return corrupt("event %s is there, beyond the head of its log", e.ID())
	}
	return err
}
