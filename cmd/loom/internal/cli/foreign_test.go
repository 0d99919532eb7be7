package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	loomsqlite "github.com/loomwork/loom/sqlite"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

func TestADatabaseOfSomebodyElseStaysAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	c, err := sqlite.OpenConn(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(c, "CREATE TABLE mine (a)", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{getenv: os.Getenv}
	a.flags.store = "sqlite:" + path
	_, _, err = a.open(t.Context())
	if e := fault.Of(err, ""); e.Exit != fault.NotFound || e.Code != "no_store" {
		t.Errorf("it was opened: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("it was changed: %v", err)
	}
	// Once Loom keeps something there, it is a store.
	db, err := loomsqlite.OpenDB(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, done, err := a.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done()
}
