//go:build unix

package sqlite

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

var update = flag.Bool("update", false, "write testdata anew")

const fixture = "testdata/version1.sql"

// TestFixture keeps the fixture in step with the code that made it: it is never
// regenerated in earnest once a release has written such files.
func TestFixture(t *testing.T) {
	if *update {
		db := open(t, SchemaVersion(1), WithClock(newClock().now))
		populate(t, db)
		if err := os.WriteFile(fixture, dump(t, db), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := fromFixture(t)
	db := openAt(t, path, SchemaVersion(1))
	text, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(t, db); !bytes.Equal(got, text) {
		t.Errorf("a file made from %s does not give it again:\n%s", fixture, got)
	}
}

// populate writes a bit of everything at version 1.
func populate(t *testing.T, db *DB) {
	ctx := context.Background()
	running := startOf("running")
	running.Index.Labels = map[string]string{"tenant": "acme"}
	running.Index.Version = "v1"
	commit(t, db, next("running", commit(t, db, running).Tip, ""))
	if _, err := db.Post(ctx, "running", store.Message{ID: "m1", Name: "go", Body: []byte("body")}); err != nil {
		t.Fatal(err)
	}
	end := next("ended", commit(t, db, startOf("ended")).Tip, "")
	end.State = store.StateCompleted
	commit(t, db, end)
	deleteWhole(t, db, "gone")
	if _, ok, err := db.Records().Put(ctx, "space", "name", 0, []byte("record")); err != nil || !ok {
		t.Fatal(ok, err)
	}
}

// deleteWhole starts id and deletes it, and returns the tip that it had last.
func deleteWhole(t testing.TB, db *DB, id event.ExecutionID) store.Tip {
	t.Helper()
	tip := commit(t, db, startOf(id)).Tip
	del := store.Request{Execution: id, Nonce: nonce(), Expect: tip, State: store.StateDeleting, Claim: &store.Claim{When: store.Unowned}}
	tip = commit(t, db, del).Tip
	if done, err := db.Delete(context.Background(), id, tip); err != nil || !done {
		t.Fatalf("delete: %v, %v", done, err)
	}
	return tip
}

// dump writes the tables as statements that make them. The epoch, which is
// random, is written as a fixed text.
func dump(t testing.TB, db *DB) []byte {
	t.Helper()
	c, err := connectReader(db.file.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out bytes.Buffer
	rows := func(query string, f func(*sqlite3.Stmt)) {
		st, _, err := c.PrepareTransient(query)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Finalize()
		for {
			more, err := st.Step()
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				return
			}
			f(st)
		}
	}
	var tables []string
	rows("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name LIKE 'loom%' ORDER BY type DESC, name", func(st *sqlite3.Stmt) {
		out.WriteString(st.ColumnText(1) + ";\n")
		if strings.HasPrefix(st.ColumnText(1), "CREATE TABLE") {
			tables = append(tables, st.ColumnText(0))
		}
	})
	for _, table := range tables {
		rows("SELECT * FROM "+table, func(st *sqlite3.Stmt) {
			var values []string
			for i := range st.ColumnCount() {
				switch st.ColumnType(i) {
				case sqlite3.TypeNull:
					values = append(values, "NULL")
				case sqlite3.TypeInteger:
					values = append(values, st.ColumnText(i))
				case sqlite3.TypeBlob:
					values = append(values, fmt.Sprintf("X'%x'", columnBlob(st, i)))
				default:
					values = append(values, "'"+st.ColumnText(i)+"'")
				}
			}
			if table == "loom_meta" && values[0] == "'epoch'" {
				values[1] = "'00000000000000000000000000000001'"
			}
			fmt.Fprintf(&out, "INSERT INTO %s VALUES (%s);\n", table, strings.Join(values, ", "))
		})
	}
	rows("SELECT seq FROM sqlite_sequence WHERE name = 'loom_heads'", func(st *sqlite3.Stmt) {
		fmt.Fprintf(&out, "UPDATE sqlite_sequence SET seq = %d WHERE name = 'loom_heads';\n", st.ColumnInt64(0))
	})
	return out.Bytes()
}

// fromFixture makes a file of version 1 and returns its path.
func fromFixture(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "old.db")
	c, err := sqlite3.OpenConn(path, sqlite3.OpenReadWrite, sqlite3.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := script(c, string(text)); err != nil {
		t.Fatal(err)
	}
	return path
}
