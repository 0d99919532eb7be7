package memstore

import (
	"context"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Commit implements store.Log. Nothing is ever Failed or Unknown.
func (db *DB) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	if err := db.lock(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	results := make([]store.Result, len(reqs))
	for i := range reqs {
		results[i] = db.commit(&reqs[i])
	}
	return results, nil
}

func (db *DB) commit(req *store.Request) store.Result {
	r := db.rows[req.Execution]
	var head *store.Row
	if r != nil {
		head = &r.Row
	}
	res, next := store.Judge(head, req, db.now, db.alive)
	if next == nil {
		return res
	}
	if r == nil {
		r = db.create(req, next)
	}
	r.Row = *next
	r.append(req.Events)
	if r.inbox != nil {
		r.inbox.drop(req.Consume)
	}
	db.file(r)
	for i := range req.Post {
		db.deliver(req.Post[i].To, req.Post[i].Message)
	}
	db.touch()
	res.Tip, res.Mail = r.Tip, r.Mail // a start's anchor, a message to oneself
	return res
}

// create makes the row of a start and completes next with what only the store
// knows: the anchor, and at level 2.2.0 the first token.
func (db *DB) create(req *store.Request, next *store.Row) *row {
	db.created++
	r := &row{key: db.created}
	if db.level.AtLeast(store.Level23) {
		next.Tip.Anchor = store.IncarnationAnchor(db.created)
	} else {
		next.Tip.Anchor = store.LegacyAnchor(req.Events[0])
		if floor, ok := db.floors[req.Execution]; ok {
			next.Tip.Fence = floor + 1
			delete(db.floors, req.Execution)
		}
	}
	db.rows[req.Execution] = r
	db.births = append(db.births, birth{r.key, r})
	return r
}

// Delete implements store.Deleter. One call does all of it.
func (db *DB) Delete(ctx context.Context, id event.ExecutionID, tip store.Tip) (done bool, err error) {
	if err := db.lock(ctx); err != nil {
		return false, err
	}
	defer db.mu.Unlock()
	r := db.rows[id]
	switch {
	case r == nil:
		return true, nil
	case r.State != store.StateDeleting:
		return false, refused(id, "is "+r.State.String()+", not deleting")
	case r.Tip.Anchor != tip.Anchor:
		return false, refused(id, "is another incarnation")
	}
	if !db.level.AtLeast(store.Level23) {
		db.floors[id] = r.Tip.Fence
	}
	delete(db.rows, id)
	db.bury(r)
	db.touch()
	return true, nil
}
