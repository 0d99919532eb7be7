package sqlite

import (
	"context"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Post implements store.Inbox. If ctx ends first, the message may still be put
// in: the same message posted again is then a repeat.
func (db *DB) Post(ctx context.Context, to event.ExecutionID, m store.Message) (store.Receipt, error) {
	if err := to.Validate(); err != nil {
		return store.Receipt{}, err
	}
	got := new(store.Receipt) // its own: after ctx the writer may still write it
	err := db.writer.do(ctx, "post", false, func(t *tx) (err error) {
		*got, err = t.post(to, &m)
		return err
	})
	if err != nil {
		return store.Receipt{}, err
	}
	return *got, nil
}

// post puts m into the inbox of an execution.
func (t *tx) post(to event.ExecutionID, m *store.Message) (store.Receipt, error) {
	got := store.Receipt{Now: t.now}
	row, err := t.row(to)
	if err != nil {
		return got, err
	}
	var was *store.Row
	if row != nil && !row.gone {
		was = &row.Row
		got.Owner, got.State = was.Owner, was.State
	}
	delivery, next := store.Deliver(was, t.now)
	got.Delivery = delivery
	if next == nil {
		return got, nil
	}
	n, pending, err := t.pending(row.key, m.ID)
	if err != nil {
		return got, err
	}
	if pending {
		got.Repeat, got.N = true, n
		return got, nil
	}
	got.N = next.Mail
	st, err := t.conn.Prepare(sqlInsertMessage)
	if err != nil {
		return got, err
	}
	st.BindInt64(1, row.key)
	st.BindInt64(2, got.N)
	st.BindText(3, m.ID)
	st.BindText(4, m.Name)
	bindBlob(st, 5, m.Body)
	st.BindInt64(6, int64(t.now))
	if _, err := st.Step(); err != nil {
		return got, err
	}
	return got, t.exec(sqlMail, row.key, next.Mail, int64(next.WakeAt))
}

// pending finds the number of a message that waits already.
func (t *tx) pending(key int64, id string) (n int64, ok bool, err error) {
	st, err := t.conn.Prepare(sqlFindMessage)
	if err != nil {
		return 0, false, err
	}
	st.BindInt64(1, key)
	st.BindText(2, id)
	if ok, err = st.Step(); err != nil || !ok {
		return 0, false, err
	}
	n = st.ColumnInt64(0)
	return n, true, st.Reset()
}

// Pending implements store.Inbox.
func (db *DB) Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) (ms []store.Message, mail int64, err error) {
	err = db.read(ctx, "pending", func(c *sqlite3.Conn) error {
		h, key, ok, err := getHead(c, db.sql.get, id)
		if err != nil || !ok {
			return err
		}
		mail = h.Mail
		st, err := c.Prepare(sqlPending)
		if err != nil {
			return err
		}
		st.BindInt64(1, key)
		st.BindInt64(2, after)
		st.BindInt64(3, int64(limit))
		for {
			more, err := st.Step()
			if err != nil || !more {
				return err
			}
			ms = append(ms, store.Message{
				N: st.ColumnInt64(0), ID: st.ColumnText(1), Name: st.ColumnText(2), Body: columnBlob(st, 3),
				Posted: event.Time(st.ColumnInt64(4)),
			})
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return ms, mail, nil
}
