package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// DB is one open file. It implements store.Log, Index, Leaser, Inbox, Deleter,
// Hints and About, and its Records method returns a store.Records. All methods
// may be called from any goroutine.
type DB struct {
	file    *file
	o       options
	sql     *statements
	schema  int // of this handle: the file's or, if lower, the one asked for
	epoch   string
	writer  *writer
	readers *readers
	locks   *locks
	watch   *watch
	hints   *hints

	closing sync.Once
	closed  chan struct{} // closed when Close begins
	failure error         // of Close, for its later callers
}

var (
	_ store.Source  = (*Source)(nil)
	_ store.Log     = (*DB)(nil)
	_ store.Index   = (*DB)(nil)
	_ store.Leaser  = (*DB)(nil)
	_ store.Inbox   = (*DB)(nil)
	_ store.Deleter = (*DB)(nil)
	_ store.Hints   = (*DB)(nil)
	_ store.About   = (*DB)(nil)
)

// opening serialises opens in this process: while one creates the file, by a
// descriptor that it closes again, no connection of another may hold locks on it.
var opening sync.Mutex

// OpenDB opens, creates and migrates the file at path. The caller closes what it
// gets. Errors are of type [*Error] and match one of
//
//   - store.ErrTooOld: the engine is one that can lose data;
//   - store.ErrVanished: the file is not there and [MustExist] was said, or the
//     file is missing or empty while its write-ahead log is not;
//   - ErrNotADatabase: a directory, a device, or a file of another kind;
//   - ErrNetwork: the file is on a network file system, as far as that shows;
//   - store.ErrReadOnly: the file or its directory may not be written;
//   - ErrNewer: a later release of this package made the schema;
//   - store.ErrCorrupt, store.ErrFull, ErrBusy, ErrIO, ErrInternal.
func OpenDB(ctx context.Context, path string, opts ...Option) (*DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Op: "open", Path: path, Code: ErrIO, Err: context.Cause(ctx)}
	}
	opening.Lock()
	defer opening.Unlock()
	o := defaults(opts)
	f, err := locate(path, o.existing)
	if err != nil {
		return nil, err
	}
	db := &DB{file: f, o: o, closed: make(chan struct{})}
	c, err := connectWriter(f.path, &o)
	if err != nil {
		return nil, db.openError(err)
	}
	if err := db.load(c); err != nil {
		c.Close()
		return nil, db.openError(err)
	}
	db.sql = newStatements(db.schema)
	db.locks = newLocks(f.path, o.noLocks)
	db.watch = &watch{mono: o.mono}
	db.readers = newReaders(db)
	db.hints = &hints{db: db}
	db.writer = newWriter(db, newFlusher(db, c))
	return db, nil
}

// load migrates and reads what does not change while the file is open.
func (db *DB) load(c *sqlite3.Conn) error {
	have, err := migrate(c, &db.o)
	if err != nil {
		return err
	}
	db.schema = min(have, db.o.schema)
	if db.epoch, err = text(c, "SELECT value FROM loom_meta WHERE name = 'epoch'"); err != nil {
		return err
	}
	if db.epoch == "" {
		return corrupt("no epoch in loom_meta")
	}
	// An ordinary read would not tell that a file is write-protected.
	if err := persist(db.o.patience, func() error { return run(c, "BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	if err := run(c, "ROLLBACK"); err != nil {
		return err
	}
	return db.file.check()
}

func (db *DB) openError(err error) error {
	code, _ := classify(err)
	if code == ErrIO && sqlite3.ErrCode(err).ToPrimary() == sqlite3.ResultCantOpen {
		// The engine says "can't open" where it may not, or where the directory
		// takes no -wal beside the file.
		return &Error{Op: "open", Path: db.file.path, Code: store.ErrReadOnly, Err: err}
	}
	return wrap("open", db.file.path, err)
}

// Path returns the file's absolute path, symbolic links resolved.
func (db *DB) Path() string { return db.file.path }

// Close answers what waits, writes the log back into the file, gives up the node
// locks and closes all connections. Later calls of other methods return errors
// that match store.ErrClosed; calling Close again returns what it returned first.
func (db *DB) Close() error {
	db.closing.Do(func() {
		close(db.closed)
		db.hints.close()
		readers := db.readers.close() // before the checkpoint: a reader would keep the log from being emptied
		db.failure = errors.Join(readers, db.writer.close(), db.locks.close())
		if db.failure != nil {
			db.failure = wrap("close", db.file.path, db.failure)
		}
	})
	return db.failure
}

func (db *DB) isClosed() bool {
	select {
	case <-db.closed:
		return true
	default:
		return false
	}
}

func (db *DB) errClosed(op string) error {
	return &Error{Op: op, Path: db.file.path, Code: store.ErrClosed}
}

// Level implements store.About: 2.3.0, or 2.2.0 for a schema without
// incarnations.
func (db *DB) Level(context.Context) (store.Level, error) {
	if db.schema >= schemaIncarnation {
		return store.Level23, nil
	}
	return store.Level22, nil
}

// Epoch implements store.About.
func (db *DB) Epoch(context.Context) (string, error) { return db.epoch, nil }

func (db *DB) now() event.Time { return db.o.clock() }

func (db *DB) String() string { return fmt.Sprintf("sqlite:%s", db.file.path) }
