package sqlite

import (
	"context"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Records returns the store.Records of the file.
func (db *DB) Records() store.Records { return records{db} }

// records implements store.Records. It is a type of its own because its method
// names are those of other parts.
type records struct{ db *DB }

// Get implements store.Records.
func (r records) Get(ctx context.Context, space, name string) (rec store.Record, ok bool, err error) {
	err = r.db.read(ctx, "get record", func(c *sqlite3.Conn) error {
		rec, ok, err = getRecord(c, space, name)
		return err
	})
	return rec, ok, err
}

func getRecord(c *sqlite3.Conn, space, name string) (rec store.Record, ok bool, err error) {
	st, err := c.Prepare(sqlRecord)
	if err != nil {
		return rec, false, err
	}
	st.BindText(1, space)
	st.BindText(2, name)
	if ok, err = st.Step(); err != nil || !ok {
		return rec, false, err
	}
	rec = store.Record{Space: space, Name: name, Version: st.ColumnInt64(0), Body: columnBlob(st, 1), Updated: event.Time(st.ColumnInt64(2))}
	return rec, true, st.Reset()
}

// Put implements store.Records.
func (r records) Put(ctx context.Context, space, name string, version int64, body []byte) (int64, bool, error) {
	type answer struct {
		now int64
		ok  bool
	}
	got := new(answer)
	err := r.db.writer.do(ctx, "put record", false, func(t *tx) error {
		*got = answer{}
		is, err := t.isAt(space, name, version)
		if err != nil || !is {
			return err
		}
		st, err := t.conn.Prepare(sqlPutRecord)
		if err != nil {
			return err
		}
		st.BindText(1, space)
		st.BindText(2, name)
		st.BindInt64(3, version+1)
		bindBlob(st, 4, body)
		st.BindInt64(5, int64(t.now))
		if _, err := st.Step(); err != nil {
			return err
		}
		*got = answer{version + 1, true}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	return got.now, got.ok, nil
}

// Delete implements store.Records.
func (r records) Delete(ctx context.Context, space, name string, version int64) (bool, error) {
	done := new(bool)
	err := r.db.writer.do(ctx, "delete record", false, func(t *tx) error {
		*done = false
		is, err := t.isAt(space, name, version)
		if err != nil || !is || version == 0 {
			return err
		}
		st, err := t.conn.Prepare(sqlDeleteRecord)
		if err != nil {
			return err
		}
		st.BindText(1, space)
		st.BindText(2, name)
		if _, err := st.Step(); err != nil {
			return err
		}
		*done = true
		return nil
	})
	if err != nil {
		return false, err
	}
	return *done, nil
}

// isAt reports whether the record has this version, 0 for none.
func (t *tx) isAt(space, name string, version int64) (bool, error) {
	rec, _, err := getRecord(t.conn, space, name)
	return err == nil && rec.Version == version, err
}

// List implements store.Records.
func (r records) List(ctx context.Context, space, after string, limit int) (recs []store.Record, err error) {
	err = r.db.read(ctx, "list records", func(c *sqlite3.Conn) error {
		st, err := c.Prepare(sqlRecords)
		if err != nil {
			return err
		}
		st.BindText(1, space)
		st.BindText(2, after)
		st.BindInt64(3, int64(limit))
		for {
			more, err := st.Step()
			if err != nil || !more {
				return err
			}
			recs = append(recs, store.Record{
				Space: space, Name: st.ColumnText(0), Version: st.ColumnInt64(1), Body: columnBlob(st, 2),
				Updated: event.Time(st.ColumnInt64(3)),
			})
		}
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}
