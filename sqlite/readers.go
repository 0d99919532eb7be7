package sqlite

import (
	"context"
	"errors"

	sqlite3 "zombiezen.com/go/sqlite"
)

// poolSize is how many reads run at once. More would not help: they share the
// machine's cores with the engine's own work.
const poolSize = 4

// readers is the pool of connections that cannot write. A slot holds a
// connection or nil, for one that is still to be opened.
type readers struct {
	db    *DB
	slots chan *sqlite3.Conn
}

func newReaders(db *DB) *readers {
	p := &readers{db: db, slots: make(chan *sqlite3.Conn, db.o.pool)}
	for range db.o.pool {
		p.slots <- nil
	}
	return p
}

// read calls f with a connection inside a read transaction, which sees every
// commit that any process was answered before read was called. A file that has
// vanished is not read: what is left of it is not the store.
func (db *DB) read(ctx context.Context, op string, f func(*sqlite3.Conn) error) error {
	if db.isClosed() {
		return db.errClosed(op)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // where a slot is free as well, select would choose at random
	}
	if err := db.file.check(); err != nil {
		return err
	}
	var c *sqlite3.Conn
	select {
	case c = <-db.readers.slots:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-db.closed:
		return db.errClosed(op)
	}
	defer func() { db.readers.slots <- c }()
	if db.isClosed() {
		return db.errClosed(op)
	}
	if c == nil {
		var err error
		if c, err = connectReader(db.file.path); err != nil {
			c = nil
			return db.wrap(op, err)
		}
	}
	return db.wrap(op, inRead(c, f))
}

func inRead(c *sqlite3.Conn, f func(*sqlite3.Conn) error) error {
	if err := step(c, "BEGIN"); err != nil {
		return err
	}
	err := f(c)
	if err != nil {
		settle(c)
	}
	// Nothing was written: how the transaction ends does not matter, only that it
	// ends before the connection goes back.
	return errors.Join(err, step(c, "ROLLBACK"))
}

// close waits for reads to end and closes the connections.
func (p *readers) close() error {
	var all error
	for range p.db.o.pool {
		if c := <-p.slots; c != nil {
			all = errors.Join(all, c.Close())
		}
	}
	return all
}

// step runs a prepared statement that returns no row.
func step(c *sqlite3.Conn, query string) error {
	st, err := c.Prepare(query)
	if err != nil {
		return err
	}
	_, err = st.Step()
	if err != nil {
		return err
	}
	return st.Reset()
}
