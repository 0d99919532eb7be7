//go:build unix

package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomwork/loom/store"
)

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

// claim A-13, case 68: processes that migrate one file at once, an old one or one that is
// not there yet, and again when that is done; what was in it stays.
func TestConcurrentMigrators(t *testing.T) {
	rounds, procs := 12, 8
	if testing.Short() {
		rounds = 2
	}
	paths := make([]string, rounds)
	old := map[string]bool{}
	for i := range paths {
		if i%3 == 2 {
			paths[i] = filepath.Join(t.TempDir(), "new.db")
			continue
		}
		paths[i] = fromFixture(t)
		old[paths[i]] = true
	}
	var cs []*child
	for range procs {
		cs = append(cs, spawn(t, "migrate"))
	}
	for _, path := range paths {
		var epoch string
		for again := range 2 {
			for _, c := range cs {
				c.tell(t, "%s", path)
			}
			for _, c := range cs {
				schema, of, _ := strings.Cut(c.hear(t), " ")
				if epoch == "" {
					epoch = of
				}
				if schema != "3" || of == "" || of != epoch { // who made it anew would have drawn another one
					t.Fatalf("time %d: a migrator says %q of epoch %q, another one %q", again+1, schema, of, epoch)
				}
			}
		}
		db := openAt(t, path)
		if old[path] {
			if n := len(log(t, db, "running")); n != 2 {
				t.Errorf("the log has %d events, it had 2", n)
			}
		}
		commit(t, db, startOf("born"))
		for query1, want := range map[string]int64{
			"SELECT count(*) FROM pragma_table_info('loom_events') WHERE name = 'incarnation'": 1,
			"SELECT count(*) FROM pragma_table_info('loom_heads') WHERE name = 'incarnation'":  1,
			"SELECT count(*) FROM pragma_table_info('loom_heads') WHERE name = 'published'":    1,
			"SELECT count(*) FROM sqlite_schema WHERE name = 'loom_published'":                 1,
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
		fmt.Println(db.schema, db.epoch)
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
