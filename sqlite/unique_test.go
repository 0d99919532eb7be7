//go:build unix

package sqlite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// meddle runs statements on the file by a connection of its own, as another program
// would.
func meddle(t *testing.T, db *DB, statements ...string) {
	t.Helper()
	c, err := connect(db.file.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range statements {
		if err := run(c, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// claim B-19: a unique index that somebody added to Loom's tables is an error of the store,
// never a conflict, whatever its name and form; it fails nobody but the request that met
// it, which was not written and goes through when the index is gone.
func TestAForeignUniqueIndexIsNoConflict(t *testing.T) {
	for name, index := range map[string]string{
		"a column":                 "ON loom_heads (flow)",
		"two columns":              "ON loom_heads (version, flow)",
		"an expression":            "ON loom_heads (lower(flow))",
		"part of the rows":         "ON loom_heads (state) WHERE state = 1",
		"events":                   "ON loom_events (kind)",
		"events, by their payload": "ON loom_events (payload)",
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			first := commit(t, db, startOf("first"))
			// the name is one that Loom could have given
			meddle(t, db, "CREATE UNIQUE INDEX loom_heads_id_sequence "+index)
			guilty, neighbour := startOf("second"), store.Request{Execution: "first", Nonce: nonce(), Expect: first.Tip, Release: &store.Release{WakeAt: 9}}
			res, err := db.Commit(context.Background(), guilty, neighbour)
			if err != nil {
				t.Fatal(err)
			}
			if r := res[0]; r.Outcome != store.Failed || r.Refusal != store.NotRefused || !errors.Is(r.Err, ErrInternal) {
				t.Fatalf("%v (%v), %v", r.Outcome, r.Refusal, r.Err)
			}
			if primary := sqlite3.ErrCode(res[0].Err).ToPrimary(); primary != sqlite3.ResultConstraint {
				t.Fatalf("the engine's code is lost: %v", res[0].Err)
			}
			if res[1].Outcome != store.Committed {
				t.Fatalf("the neighbour: %v, %v", res[1].Outcome, res[1].Err)
			}
			if tip, err := db.Tip(context.Background(), "second"); err != nil || tip.Exists() {
				t.Fatalf("it exists: %+v, %v", tip, err)
			}
			meddle(t, db, "DROP INDEX loom_heads_id_sequence")
			commit(t, db, guilty)
			sound(t, db)
		})
	}
}

// claim B-19: a row that stands where an event is due, beyond the head, is damage, and not
// a conflict: the head row says that the slot is free.
func TestASlotThatIsTakenBeyondTheHeadIsDamage(t *testing.T) {
	db := open(t)
	first := commit(t, db, startOf("first"))
	meddle(t, db, "INSERT INTO loom_events (key, sequence, kind, ts) SELECT key, 1, 'X', 1 FROM loom_heads WHERE id = 'first'")
	step := next("first", first.Tip, "")
	if r := try(t, db, step); r.Outcome != store.Failed || r.Refusal != store.NotRefused || !errors.Is(r.Err, store.ErrCorrupt) || !strings.Contains(r.Err.Error(), "first-1") {
		t.Fatalf("%v (%v), %v", r.Outcome, r.Refusal, r.Err)
	}
	if tip, err := db.Tip(context.Background(), "first"); err != nil || tip != first.Tip {
		t.Fatalf("the tip is %+v, %v", tip, err)
	}
	commit(t, db, startOf("second")) // neighbours go on
	meddle(t, db, "DELETE FROM loom_events WHERE sequence = 1")
	commit(t, db, step)
}

// claim B-19: for who starts, it is a storage error that says that nothing was written, and
// no duplicate; a duplicate is one beside it.
func TestAStartThatMeetsAForeignIndexIsNoDuplicate(t *testing.T) {
	flow := loom.NewFlow("pay", func(_ loom.Context, n int) (int, error) { return n, nil })
	db := open(t)
	rt, err := loom.Open(t.Context(), store.Opened(store.Of(db)), loom.Flows(flow))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	run, err := flow.Start(t.Context(), rt, 1, loom.ID("a"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := run.Result(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	meddle(t, db, "CREATE UNIQUE INDEX theirs ON loom_heads (flow)")
	_, err = flow.Start(t.Context(), rt, 1, loom.ID("b"))
	var failed *loom.StorageWriteError
	var exists *loom.ExecutionAlreadyExistsError
	if !errors.As(err, &failed) || !failed.Definite || errors.As(err, &exists) || !errors.Is(err, ErrInternal) {
		t.Fatal(err)
	}
	if _, err = flow.Start(t.Context(), rt, 1, loom.ID("a")); !errors.As(err, &exists) {
		t.Fatal(err)
	}
	meddle(t, db, "DROP INDEX theirs")
	if run, err = flow.Start(t.Context(), rt, 2, loom.ID("b")); err != nil {
		t.Fatal(err)
	}
	if n, err := run.Result(t.Context()); n != 2 || err != nil {
		t.Fatal(n, err)
	}
}

// claim B-37: what a refused start reads is found by the primary key of the events and the
// unique id of the head rows, one row each.
func TestAReadBackIsTwoLookUps(t *testing.T) {
	db := open(t)
	c, err := connectReader(db.file.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	plan := explain(t, c, db.sql.read)
	for _, want := range []string{"loom_heads_1 (id=?)", "loom_events_1 (key=? AND sequence>?)"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
	if strings.Contains(plan, "SCAN loom") {
		t.Error(plan)
	}
}
