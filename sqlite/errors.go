package sqlite

import (
	"errors"
	"fmt"

	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Codes of this backend beside those of package store. They are matched with
// errors.Is, like those.
const (
	// ErrBusy: another process held the write lock for longer than the bounded
	// wait. Nothing was written.
	ErrBusy = store.ErrBusy
	// ErrIO: the operating system failed a read, a write or a sync.
	ErrIO store.Code = "io"
	// ErrNotADatabase: there is something at the path that is not an SQLite file.
	ErrNotADatabase store.Code = "not_a_database"
	// ErrNetwork: the file is on a network file system, where SQLite's locks do
	// not hold what they promise.
	ErrNetwork store.Code = "network_file_system"
	// ErrNewer: the file has a schema that a later release of this package made.
	ErrNewer store.Code = "schema_newer"
	// ErrInternal: a statement failed in a way that only a defect here, or a
	// trigger or constraint that somebody added to Loom's tables, explains.
	ErrInternal store.Code = "internal"
)

// Error is every error of this package: what was tried, on which file, and what
// came of it. It matches its Code and unwraps to its cause.
type Error struct {
	Op   string // "open", "commit", "read" …
	Path string
	Code store.Code
	Err  error // the cause; nil if the code says it all
}

func (e *Error) Error() string {
	msg := "sqlite: " + e.Op + " " + e.Path + ": " + string(e.Code)
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// LoomCode returns the error's stable code.
func (e *Error) LoomCode() string { return string(e.Code) }

// Is matches the code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// classify is the one place that knows what an engine error means. definite is
// false only when a commit that failed so may still be found durable later.
func classify(err error) (code store.Code, definite bool) {
	var known *Error
	if errors.As(err, &known) {
		return known.Code, known.Code != ErrIO
	}
	var plain store.Code
	if errors.As(err, &plain) {
		return plain, true
	}
	switch full := sqlite3.ErrCode(err); full.ToPrimary() {
	case sqlite3.ResultFull:
		return store.ErrFull, true
	case sqlite3.ResultReadOnly:
		// Moved, in SQLite's words: the file is not where it was opened.
		if full == sqlite3.ResultReadOnlyDBMoved {
			return store.ErrVanished, true
		}
		return store.ErrReadOnly, true
	case sqlite3.ResultPerm, sqlite3.ResultAuth:
		return store.ErrReadOnly, true
	case sqlite3.ResultBusy, sqlite3.ResultLocked, sqlite3.ResultProtocol:
		return ErrBusy, true
	case sqlite3.ResultCorrupt:
		return store.ErrCorrupt, true
	case sqlite3.ResultNotADB:
		return ErrNotADatabase, true
	case sqlite3.ResultIOErr, sqlite3.ResultCantOpen:
		return ErrIO, false
	case sqlite3.ResultNoMem:
		return ErrIO, true
	}
	return ErrInternal, true
}

// wrap gives err its code, the operation and the file. nil stays nil.
func (db *DB) wrap(op string, err error) error { return wrap(op, db.file.path, err) }

func wrap(op, path string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	code, _ := classify(err)
	if code == err {
		err = nil
	}
	return &Error{Op: op, Path: path, Code: code, Err: err}
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", store.ErrCorrupt, fmt.Sprintf(format, args...))
}
