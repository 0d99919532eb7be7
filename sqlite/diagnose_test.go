//go:build unix

package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDiagnose(t *testing.T) {
	ctx := context.Background()
	c := newClock()
	src := Open(filepath.Join(t.TempDir(), "loom.db"), WithClock(c.now))
	if got := src.Diagnose(ctx); len(got) != 1 || got[0].Check != "open" || got[0].Gravity != Wrong {
		t.Fatalf("no file: %+v", got)
	}
	if _, err := os.Stat(src.Path()); err == nil {
		t.Fatal("looking at a missing file made it")
	}
	_, closer, err := src.OpenStore(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer closer()
	db := src.DB()
	commit(t, db, startOf("x"))
	renew(t, db, "a")
	checks := map[string]Gravity{}
	for _, f := range src.Diagnose(ctx) {
		if f.Gravity != Fine {
			t.Errorf("%s: %s", f.Check, f.Detail)
		}
		if checks[f.Check] == "" {
			checks[f.Check] = f.Gravity
		}
	}
	for _, want := range []string{"engine", "journal_mode", "synchronous", "integrity", "schema", "incarnations", "heads", "nodes", "locks", "wal", "mode"} {
		if checks[want] == "" {
			t.Errorf("nothing about %s", want)
		}
	}
	// Things that are wrong are found.
	db.locks.close()
	c.advance(time.Minute)
	raw1(t, db, "UPDATE loom_heads SET head = 5")
	if err := os.Chmod(db.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	bad := map[string]Gravity{}
	for _, f := range db.Diagnose(ctx) {
		if f.Gravity != Fine {
			bad[f.Check] = f.Gravity
		}
	}
	for check, want := range map[string]Gravity{"heads": Wrong, "nodes": Warn, "mode": Warn} {
		if bad[check] != want {
			t.Errorf("%s: %q, want %q", check, bad[check], want)
		}
	}
}
