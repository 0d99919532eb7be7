package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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

// claim A-22, claim A-24, claim A-45: what was observed before the migration
// holds after it, and no log that is there gets an incarnation.
func TestMigrationKeepsObservations(t *testing.T) {
	path := fromFixture(t)
	old := openAt(t, path, SchemaVersion(1))
	before, err := old.Tip(context.Background(), "running")
	if err != nil {
		t.Fatal(err)
	}
	if want := store.LegacyAnchor(ev("running", 0, "")); before.Anchor != want {
		t.Fatalf("anchor %q, want %q", before.Anchor, want)
	}
	if level, _ := old.Level(context.Background()); level != store.Level22 {
		t.Fatalf("level %v", level)
	}
	logBefore := log(t, old, "running")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	db := openAt(t, path)
	if level, _ := db.Level(context.Background()); level != store.Level23 {
		t.Fatalf("level %v", level)
	}
	if n := query(t, db, "SELECT count(*) FROM loom_events WHERE incarnation IS NOT NULL"); n != 0 {
		t.Fatalf("the migration gave %d events an incarnation", n)
	}
	after, err := db.Tip(context.Background(), "running")
	if err != nil || after != before {
		t.Fatalf("tip %+v, %v; it was %+v", after, err, before)
	}
	logAfter := log(t, db, "running")
	for i := range logBefore {
		if !logBefore[i].Equal(logAfter[i]) {
			t.Fatalf("event %d changed", i)
		}
	}
	req := next("running", before, "")
	res := commit(t, db, req)
	if res.Tip.Anchor != before.Anchor || res.Mail != 1 {
		t.Fatalf("%+v", res)
	}
	if got := commit(t, db, startOf("new")); got.Tip.Anchor != "1" {
		t.Fatalf("the first incarnation is %q", got.Tip.Anchor)
	}
	if r, ok, err := db.Records().Get(context.Background(), "space", "name"); err != nil || !ok || string(r.Body) != "record" {
		t.Fatal(r, ok, err)
	}
}

// claim A-23: deleted and created again after the migration.
func TestLegacyAnchorNeverMatchesAgain(t *testing.T) {
	db := openAt(t, fromFixture(t))
	old, err := db.Tip(context.Background(), "running")
	if err != nil {
		t.Fatal(err)
	}
	del := store.Request{Execution: "running", Nonce: nonce(), Expect: old, State: store.StateDeleting, Claim: &store.Claim{When: store.Unowned}}
	if done, err := db.Delete(context.Background(), "running", commit(t, db, del).Tip); err != nil || !done {
		t.Fatal(done, err)
	}
	commit(t, db, next("running", commit(t, db, startOf("running")).Tip, "")) // the same bytes, head and token
	if res := try(t, db, next("running", old, "")); res.Refusal != store.RefusedAnchor {
		t.Fatalf("a write for the deleted execution: %v %v", res.Outcome, res.Refusal)
	}
	// What version 1 left of a deleted id is no floor once there are incarnations.
	if res := commit(t, db, startOf("gone")); res.Tip.Fence != 0 {
		t.Fatalf("the first token is %d", res.Tip.Fence)
	}
}

// claim A-25: code of version 1 over a migrated file, and forward again.
func TestRollback(t *testing.T) {
	path := fromFixture(t)
	db := openAt(t, path)
	made := commit(t, db, startOf("by-new")).Tip
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	old := openAt(t, path, SchemaVersion(1))
	seen, err := old.Tip(context.Background(), "by-new")
	if err != nil || seen.Anchor != store.LegacyAnchor(ev("by-new", 0, "")) {
		t.Fatalf("old code reports the anchor %q, %v", seen.Anchor, err)
	}
	commit(t, old, next("by-new", seen, ""))
	mine := commit(t, old, startOf("by-old")).Tip
	commit(t, old, next("by-old", mine, ""))
	deleteWhole(t, old, "by-old-and-deleted")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db = openAt(t, path)
	if n := query(t, db, "SELECT count(*) FROM loom_events e JOIN loom_heads h USING (key) WHERE h.id = 'by-old' AND e.sequence = 0 AND e.incarnation IS NOT NULL"); n != 1 {
		t.Fatal("an execution that old code made has no incarnation")
	}
	tip, err := db.Tip(context.Background(), "by-old")
	if err != nil {
		t.Fatal(err)
	}
	commit(t, db, next("by-old", tip, ""))
	for _, stale := range []store.Tip{mine, seen} { // anchors of old code match nothing of new code
		id := executionID("by-old")
		if stale == seen {
			id = "by-new"
		}
		if res := try(t, db, next(id, stale, "")); res.Refusal != store.RefusedAnchor {
			t.Fatalf("%v %v", res.Outcome, res.Refusal)
		}
	}
	made.Head++
	made.Mark = store.Nonce{}
	commit(t, db, next("by-new", made, ""))
}

// claim A-13: idempotent, and processes that migrate at once.
func TestConcurrentMigrators(t *testing.T) {
	rounds, procs := 12, 8
	if testing.Short() {
		rounds = 2
	}
	paths := make([]string, rounds)
	for i := range paths {
		paths[i] = fromFixture(t)
	}
	var cs []*child
	for range procs {
		cs = append(cs, spawn(t, "migrate"))
	}
	for _, path := range paths {
		for _, c := range cs {
			c.tell(t, "%s", path)
		}
		for _, c := range cs {
			if got := c.hear(t); got != "2" {
				t.Fatalf("a migrator says %q", got)
			}
		}
		db := openAt(t, path)
		for query1, want := range map[string]int64{
			"SELECT count(*) FROM pragma_table_info('loom_events') WHERE name = 'incarnation'": 1,
			"SELECT count(*) FROM pragma_table_info('loom_heads') WHERE name = 'incarnation'":  1,
			"SELECT count(*) FROM sqlite_schema WHERE name = 'loom_incarnations'":              1,
			"SELECT count(*) FROM loom_incarnations":                                           1,
			"SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'loom%'":  1,
		} {
			if got := query(t, db, query1); got != want {
				t.Errorf("%s = %d", query1, got)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func childMigrate(_ []string, in *bufio.Scanner) error {
	for in.Scan() {
		db, err := OpenDB(context.Background(), in.Text())
		if err != nil {
			return err
		}
		fmt.Println(db.schema)
		if err := db.Close(); err != nil {
			return err
		}
	}
	return nil
}

func TestNewerSchema(t *testing.T) {
	db := open(t)
	raw1(t, db, "UPDATE loom_meta SET value = '99' WHERE name = 'schema'")
	path := db.Path()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDB(context.Background(), path); !errors.Is(err, ErrNewer) {
		t.Fatalf("open: %v", err)
	}
}

// raw1 executes one statement by a connection of its own, as another program
// would.
func raw1(t testing.TB, db *DB, statement string) {
	t.Helper()
	c, err := connect(db.file.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := run(c, statement); err != nil {
		t.Fatal(err)
	}
}
