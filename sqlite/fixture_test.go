//go:build unix

package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

const fixture = "testdata/version1.sql"

// The fixture is a file of version 1 by a build that knew no published pairs. Opening it
// as version 1 changes nothing of what is there: the place for pairs is all that is added.
// It is never written anew.
func TestFixture(t *testing.T) {
	path := fromFixture(t)
	text, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(t, path); !bytes.Equal(got, text) {
		t.Fatalf("a file made from %s does not give it again:\n%s", fixture, got)
	}
	for range 2 {
		db := openAt(t, path, SchemaVersion(1))
		if got, want := string(dump(t, path)), withPublished(string(text)); got != want {
			t.Errorf("opened, the file is\n%s\nwant\n%s", got, want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// withPublished is the text of a file once it has a place for published pairs.
func withPublished(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if row, ok := strings.CutSuffix(line, ");\n"); ok && strings.HasPrefix(line, "INSERT INTO loom_heads ") {
			line = row + ", NULL);\n"
		}
		if last, ok := strings.CutSuffix(line, "updated INTEGER NOT NULL);\n"); ok && strings.Contains(last, "first_ts") {
			line = last + "updated INTEGER NOT NULL, published BLOB);\n"
		}
		if strings.HasPrefix(line, "CREATE TABLE loom_records ") {
			out.WriteString(strings.Replace(publishedTable, "IF NOT EXISTS ", "", 1) + ";\n")
		}
		out.WriteString(line)
	}
	return out.String()
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
func dump(t testing.TB, path string) []byte {
	t.Helper()
	c, err := connectReader(path)
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
