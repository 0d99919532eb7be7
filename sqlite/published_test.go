//go:build unix

package sqlite

import (
	"context"
	"maps"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// found returns the executions that show a pair, newest first.
func found(t *testing.T, db *DB, key, value string) (ids []event.ExecutionID) {
	t.Helper()
	heads, _, err := db.List(context.Background(), store.Query{Published: map[string]string{key: value}})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heads {
		if h.Published[key] != value {
			t.Errorf("%s is found by %s=%s and shows %q", h.Execution, key, value, h.Published)
		}
		ids = append(ids, h.Execution)
	}
	return ids
}

// published returns the pairs of both places: the head row's, and those that searches go
// by.
func published(t *testing.T, db *DB, id event.ExecutionID) (shown map[string]string, rows int64) {
	t.Helper()
	h, ok, err := db.Get(context.Background(), id)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return h.Published, query(t, db, "SELECT count(*) FROM loom_published p JOIN loom_heads h USING (key) WHERE h.id = '"+string(id)+"'")
}

func publishing(req store.Request, news ...store.Publication) store.Request {
	req.Publish = news
	return req
}

// A file of either schema version takes pairs, an old one too, and a file that was given
// its second version keeps those that it had.
func TestEveryVersionPublishes(t *testing.T) {
	path, want := fromFixture(t), map[string]string{}
	for version := 1; version <= schemaNewest; version++ {
		db := openAt(t, path, SchemaVersion(version))
		tip, err := db.Tip(context.Background(), "running")
		if err != nil {
			t.Fatal(err)
		}
		mine := string(rune('0' + version))
		commit(t, db, publishing(next("running", tip, ""), store.Publication{Key: "by", Value: mine}, store.Publication{Key: "v" + mine, Value: "x"}))
		want["by"], want["v"+mine] = mine, "x"
		if shown, rows := published(t, db, "running"); !maps.Equal(shown, want) || rows != int64(len(want)) {
			t.Fatalf("version %d: shown is %q, %d rows; want %q", version, shown, rows, want)
		}
		if ids := found(t, db, "by", mine); len(ids) != 1 {
			t.Fatalf("version %d: %q", version, ids)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy of a file that has one half of the addition gets the other.
func TestHalfAnAdditionIsCompleted(t *testing.T) {
	for _, drop := range []string{"DROP TABLE loom_published", "ALTER TABLE loom_heads DROP COLUMN published"} {
		db := open(t)
		commit(t, db, startOf("a"))
		raw1(t, db, drop)
		path := db.Path()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = openAt(t, path)
		commit(t, db, publishing(startOf("b"), store.Publication{Key: "k", Value: "v"}))
		if ids := found(t, db, "k", "v"); len(ids) != 1 || ids[0] != "b" {
			t.Errorf("after %s: %q", drop, ids)
		}
	}
}

// Code from before the addition deletes without it: what it leaves behind is found by
// nobody, and shown by no later execution of the id.
func TestPairsThatOlderCodeLeftAreFoundByNobody(t *testing.T) {
	db := open(t)
	commit(t, db, publishing(startOf("a"), store.Publication{Key: "k", Value: "v"}))
	for _, statement := range []string{"DELETE FROM loom_events", "DELETE FROM loom_heads"} {
		raw1(t, db, statement)
	}
	if ids := found(t, db, "k", "v"); len(ids) != 0 {
		t.Fatalf("%q", ids)
	}
	commit(t, db, startOf("a"))
	if shown, rows := published(t, db, "a"); len(shown) != 0 || rows != 0 {
		t.Fatalf("%q, %d rows", shown, rows)
	}
}

// A transaction that fails after a publication publishes nothing.
func TestAPublicationIsUndoneWithItsTransaction(t *testing.T) {
	db := open(t)
	tip := commit(t, db, publishing(startOf("a"), store.Publication{Key: "k", Value: "1"})).Tip
	raw1(t, db, "CREATE TRIGGER no BEFORE INSERT ON loom_published WHEN NEW.value = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END")
	bad := publishing(next("a", tip, ""), store.Publication{Key: "k", Value: "2"}, store.Publication{Key: "z", Value: "bad"})
	res, err := db.Commit(context.Background(), bad)
	if err != nil || res[0].Outcome != store.Failed {
		t.Fatalf("%+v, %v", res, err)
	}
	if shown, rows := published(t, db, "a"); !maps.Equal(shown, map[string]string{"k": "1"}) || rows != 1 {
		t.Fatalf("%q, %d rows", shown, rows)
	}
	if n := query(t, db, "SELECT max(sequence) FROM loom_events"); n != 0 {
		t.Fatalf("its event %d was written", n)
	}
}
