package oddstore

import (
	"context"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Misnaming reports every conflict under another execution's id. With Row it
// also shows another execution's head row in the refusal: an answer that looks
// right, and is about something else.
type Misnaming struct {
	store.Log
	// Name returns the id that is reported for id.
	Name func(id event.ExecutionID) event.ExecutionID
	// Row changes what a refusal shows of the head row; nil to leave it.
	Row func(*store.Result)
}

// Commit implements store.Log.
func (m *Misnaming) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	res, err := m.Log.Commit(ctx, reqs...)
	for i := range res {
		if res[i].Outcome != store.Refused {
			continue
		}
		res[i].Err = named(&reqs[i], m.Name(reqs[i].Execution), res[i])
		if m.Row != nil {
			m.Row(&res[i])
		}
	}
	return res, err
}
