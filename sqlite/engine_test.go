//go:build unix

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// claim H-15 (a)
func TestEngineFloor(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.40.0": false, "3.50.6": false, "3.50.7": true, "3.50.8": false, "3.51.0": false, "3.51.2": false, "3.51.3": true,
		"3.51.10": true, "3.52.0": false, "3.52.1": true, "3.53.0": true, "4.0.0": true, "": false, "x": false,
	} {
		if err := checkEngine(version); (err == nil) != ok || err != nil && !errors.Is(err, store.ErrTooOld) {
			t.Errorf("%s: %v", version, err)
		}
	}
	if err := checkEngine(sqlite3.Version); err != nil {
		t.Error(err)
	}
	old := func(o *options) { o.engine = "3.51.2" }
	if _, err := OpenDB(context.Background(), filepath.Join(t.TempDir(), "x.db"), old); !errors.Is(err, store.ErrTooOld) {
		t.Errorf("open with an old engine: %v", err)
	}
}

// claim H-15 (b): what durability rests on is as it should be on the connection
// that commits.
func TestWriterSettings(t *testing.T) {
	for name, opts := range map[string][]Option{"FULL": nil, "NORMAL": {MayLoseLastCommits()}} {
		db := open(t, opts...)
		sync := map[string]string{"FULL": "2", "NORMAL": "1"}[name]
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": sync, "page_size": "4096", "mmap_size": "0",
			"wal_autocheckpoint": "4000", "locking_mode": "normal"} {
			if got, err := text(db.writer.conn, "PRAGMA "+pragma); err != nil || got != want {
				t.Errorf("%s: %s is %q, %v; want %q", name, pragma, got, err, want)
			}
		}
	}
}

// claim H-15 (c), case 63: a writer that finds the file locked waits its turn and
// does not fail; one that waits too long gets a definite answer.
func TestBusy(t *testing.T) {
	db := open(t)
	tip := commit(t, db, startOf("x")).Tip
	other, err := connect(db.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := run(other, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	answers := make(chan store.Result)
	go func() {
		res, err := db.Commit(context.Background(), next("x", tip, ""))
		if err != nil {
			t.Error(err)
		}
		answers <- res[0]
	}()
	eventually(t, "the commit waits", func() bool { return !db.writer.drive.TryLock() || unlock(db) })
	if err := run(other, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if res := <-answers; res.Outcome != store.Committed {
		t.Fatalf("%v %v", res.Outcome, res.Err)
	}

	short := openAt(t, db.Path(), func(o *options) { o.patience = time.Millisecond })
	tip, err = short.Tip(context.Background(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(other, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	req := next("x", tip, "")
	if res := try(t, short, req); res.Outcome != store.Failed || !errors.Is(res.Err, ErrBusy) {
		t.Fatalf("%v %v", res.Outcome, res.Err)
	}
	// ctx ends the wait, not the write.
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	go cancel(why)
	res, err := db.Commit(ctx, req)
	if err == nil && (res[0].Outcome != store.Unknown || !errors.Is(res[0].Err, why)) {
		t.Fatalf("%v %v", res[0].Outcome, res[0].Err)
	}
	abandoned := err == nil
	if err := run(other, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if got := commit(t, db, req); got.Again != abandoned {
		t.Fatalf("resent: %+v", got)
	}
}

func unlock(db *DB) bool { db.writer.drive.Unlock(); return false }

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err      error
		code     store.Code
		definite bool
	}{
		{sqlite3.ResultFull.ToError(), store.ErrFull, true},
		{sqlite3.ResultReadOnly.ToError(), store.ErrReadOnly, true},
		{sqlite3.ResultReadOnlyDBMoved.ToError(), store.ErrVanished, true},
		{sqlite3.ResultReadOnlyDirectory.ToError(), store.ErrReadOnly, true},
		{sqlite3.ResultBusy.ToError(), ErrBusy, true},
		{sqlite3.ResultBusySnapshot.ToError(), ErrBusy, true},
		{sqlite3.ResultBusyRecovery.ToError(), ErrBusy, true},
		{sqlite3.ResultLocked.ToError(), ErrBusy, true},
		{sqlite3.ResultCorrupt.ToError(), store.ErrCorrupt, true},
		{sqlite3.ResultNotADB.ToError(), ErrNotADatabase, true},
		{sqlite3.ResultIOErrFsync.ToError(), ErrIO, false},
		{sqlite3.ResultIOErrWrite.ToError(), ErrIO, false},
		{sqlite3.ResultNoMem.ToError(), ErrIO, true},
		{sqlite3.ResultConstraintPrimaryKey.ToError(), ErrInternal, true},
		{sqlite3.ResultTooBig.ToError(), ErrInternal, true},
		{corrupt("x"), store.ErrCorrupt, true},
		{fmt.Errorf("y: %w", corrupt("x")), store.ErrCorrupt, true},
		{&Error{Code: store.ErrVanished}, store.ErrVanished, true},
		{errors.New("other"), ErrInternal, true},
	} {
		if code, definite := classify(c.err); code != c.code || definite != c.definite {
			t.Errorf("%v: %s, %v", c.err, code, definite)
		}
	}
}
