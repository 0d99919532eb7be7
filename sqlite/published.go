package sqlite

import (
	"maps"
	"slices"

	"github.com/loomwork/loom/event"
	sqlite3 "zombiezen.com/go/sqlite"
)

// publishedTable and publishedColumn hold what executions show of themselves: the table
// is what searches go by, the column repeats a row's pairs so that a listing touches one
// row.
//
// They are an addition, not a version: code of every schema version has them, a file
// gets them when it is opened, and code from before them reads and writes the file as
// ever, because it names its columns. What such code deletes leaves pairs behind whose
// key is never used again.
const (
	publishedTable = `CREATE TABLE IF NOT EXISTS loom_published (
  name TEXT NOT NULL, value TEXT NOT NULL, key INTEGER NOT NULL,
  PRIMARY KEY (name, value, key)) WITHOUT ROWID`
	publishedColumn = `ALTER TABLE loom_heads ADD COLUMN published BLOB`
)

func hasPublished(c *sqlite3.Conn) (bool, error) {
	n, err := number(c, `SELECT (SELECT count(*) FROM pragma_table_info('loom_heads') WHERE name = 'published') +
  (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'loom_published')`)
	return n == 2, err
}

// addPublished makes what hasPublished asks for. A copy of the file that a tool made may
// have one of the two.
func addPublished(c *sqlite3.Conn) error {
	n, err := number(c, "SELECT count(*) FROM pragma_table_info('loom_heads') WHERE name = 'published'")
	if err != nil {
		return err
	}
	if n == 0 {
		if err := run(c, publishedColumn); err != nil {
			return err
		}
	}
	return run(c, publishedTable)
}

// pairs returns the labels and the published pairs of a row.
func (t *tx) pairs(key int64) (labels, published map[string]string, err error) {
	st, err := t.conn.Prepare(sqlPairs)
	if err != nil {
		return nil, nil, err
	}
	st.BindInt64(1, key)
	ok, err := st.Step()
	if err != nil || !ok {
		return nil, nil, err
	}
	raw, shown := columnBlob(st, 0), columnBlob(st, 1)
	if err := st.Reset(); err != nil {
		return nil, nil, err
	}
	if labels, err = event.DecodeMeta(raw); err != nil {
		return nil, nil, corrupt("labels of row %d: %v", key, err)
	}
	if published, err = event.DecodeMeta(shown); err != nil {
		return nil, nil, corrupt("published pairs of row %d: %v", key, err)
	}
	return labels, published, nil
}

// publish writes what a row shows, where that is something else than it was.
func (t *tx) publish(key int64, was, next map[string]string) error {
	if maps.Equal(was, next) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if value, ok := next[name]; ok && value == was[name] {
			continue
		}
		if err := t.pair(sqlDropPublished, name, was[name], key); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if value, ok := was[name]; ok && value == next[name] {
			continue
		}
		if err := t.pair(sqlInsertPublished, name, next[name], key); err != nil {
			return err
		}
	}
	st, err := t.conn.Prepare(sqlPublish)
	if err != nil {
		return err
	}
	st.BindInt64(1, key)
	bindBlob(st, 2, event.EncodeMeta(next))
	_, err = st.Step()
	return err
}

// dropPairs takes the labels and the published pairs of a row out of what searches go by.
func (t *tx) dropPairs(key int64) error {
	labels, published, err := t.pairs(key)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if err := t.pair(sqlDropLabel, name, labels[name], key); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(published)) {
		if err := t.pair(sqlDropPublished, name, published[name], key); err != nil {
			return err
		}
	}
	return nil
}

// pair runs a statement about one name and value of a row.
func (t *tx) pair(query, name, value string, key int64) error {
	st, err := t.conn.Prepare(query)
	if err != nil {
		return err
	}
	st.BindText(1, name)
	st.BindText(2, value)
	st.BindInt64(3, key)
	_, err = st.Step()
	return err
}
