//go:build unix

package sqlite

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// claim A-11: through the store, through raw SQL, through a second process.
func TestEveryInsertPathGetsAnIncarnation(t *testing.T) {
	db := open(t)
	number := func(a store.Anchor) int64 {
		n, err := strconv.ParseInt(string(a), 10, 64)
		if err != nil {
			t.Fatalf("anchor %q is no decimal", a)
		}
		return n
	}
	first := number(commit(t, db, startOf("store")).Tip.Anchor)
	raw1(t, db, `INSERT INTO loom_heads (id, head, fence, mark, birth, state, wake_at, flow, version, parent, first_ts, created, updated)
  VALUES ('raw', 0, 0, zeroblob(16), zeroblob(16), 1, 0, 'flow', '', '', 7, 0, 0)`)
	raw1(t, db, `INSERT INTO loom_events (key, sequence, kind, ts, payload) SELECT key, 0, 'x', 7, X'00' FROM loom_heads WHERE id = 'raw'`)
	tip, err := db.Tip(context.Background(), "raw")
	if err != nil {
		t.Fatal(err)
	}
	second := number(tip.Anchor)
	third := number(store.Anchor(spawn(t, "start", db.Path(), "process").hear(t)))
	if !(first < second && second < third) {
		t.Fatalf("incarnations %d, %d, %d", first, second, third)
	}
	agree(t, db)
}

// agree checks that every head row repeats what its sequence 0 says.
func agree(t testing.TB, db *DB) {
	t.Helper()
	if n := query(t, db, `SELECT count(*) FROM loom_heads h LEFT JOIN loom_events e ON e.key = h.key AND e.sequence = 0
  WHERE h.incarnation IS NOT e.incarnation OR h.first_ts IS NOT e.ts`); n != 0 {
		t.Errorf("%d head rows disagree with their sequence 0", n)
	}
}

// claim A-12, claim A-10: the counter is never reset, also where the largest is
// deleted and the file opened again. MAX()+1 would reuse it (case 7).
func TestIncarnationIsNeverReused(t *testing.T) {
	db := open(t)
	seen := map[store.Anchor]bool{}
	last := int64(0)
	for round := range 5 {
		tip := deleteWhole(t, db, "again")
		if n, _ := strconv.ParseInt(string(tip.Anchor), 10, 64); n <= last || seen[tip.Anchor] {
			t.Fatalf("round %d: incarnation %s after %d", round, tip.Anchor, last)
		} else {
			last, seen[tip.Anchor] = n, true
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = openAt(t, db.Path())
	}
	if n := query(t, db, "SELECT count(*) FROM loom_events"); n != 0 {
		t.Fatalf("%d events are left", n)
	}
}

// claim A-21: a legacy anchor holds a colon, an incarnation none.
func TestAnchorsOfTwoKindsAreNeverEqual(t *testing.T) {
	for _, id := range []event.ExecutionID{"1", "0", "1:1", ":", "1-0", "9223372036854775807", "-1"} {
		for _, at := range []event.Time{0, 1, -1, event.Never} {
			legacy := store.LegacyAnchor(event.Envelope{Execution: id, Time: at})
			if !strings.Contains(string(legacy), ":") {
				t.Errorf("legacy anchor %q", legacy)
			}
			if _, err := strconv.ParseInt(string(legacy), 10, 64); err == nil {
				t.Errorf("legacy anchor %q is a number", legacy)
			}
		}
	}
}

// H-11: a store of level 2.3.0 does not make an execution without incarnation,
// and doctor tells of one that a tool made.
func TestTriggerGone(t *testing.T) {
	db := open(t)
	commit(t, db, startOf("before"))
	raw1(t, db, "DROP TRIGGER loom_events_incarnation")
	if res := try(t, db, startOf("after")); res.Outcome != store.Failed {
		t.Fatalf("a start without the trigger: %v, %v", res.Outcome, res.Err)
	}
	if tip, err := db.Tip(context.Background(), "after"); err != nil || tip.Exists() {
		t.Fatal("the failed start left something behind")
	}
	raw1(t, db, "UPDATE loom_events SET incarnation = NULL")
	found := map[string]Gravity{}
	for _, f := range db.Diagnose(context.Background()) {
		if f.Gravity != Fine {
			found[f.Check] = f.Gravity
		}
	}
	if found["incarnations"] == "" || found["heads"] != Wrong {
		t.Fatalf("doctor found %v", found)
	}
}

// H-11: a guard that keeps events from being changed must let the stamp pass; if
// it does not, starts fail and leave nothing.
func TestAppendOnlyGuard(t *testing.T) {
	db := open(t)
	raw1(t, db, `CREATE TRIGGER guard BEFORE UPDATE OF payload ON loom_events BEGIN SELECT RAISE(ABORT, 'append only'); END`)
	commit(t, db, startOf("one"))
	raw1(t, db, `CREATE TRIGGER guard2 BEFORE UPDATE ON loom_events BEGIN SELECT RAISE(ABORT, 'append only'); END`)
	if res := try(t, db, startOf("two")); res.Outcome != store.Failed {
		t.Fatalf("%v", res.Outcome)
	}
	if n := query(t, db, "SELECT count(*) FROM loom_heads"); n != 1 {
		t.Fatalf("%d head rows", n)
	}
}

// claim A-20: a tip is one that existed at one instant, while executions of one
// id come and go.
func TestTipIsOfOneInstant(t *testing.T) {
	db := open(t)
	other := openAt(t, db.Path())
	var mu sync.Mutex
	was := map[store.Tip]bool{store.Absent(): true}
	remember := func(tip store.Tip) store.Tip {
		mu.Lock()
		defer mu.Unlock()
		was[tip] = true
		return tip
	}
	var seen []store.Tip
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for _, h := range []*DB{db, other} {
		readers.Go(func() {
			for {
				tip, err := h.Tip(context.Background(), "id")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen = append(seen, tip)
				mu.Unlock()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 60 {
		tip := remember(commit(t, db, startOf("id")).Tip)
		for range 3 {
			tip = remember(commit(t, db, next("id", tip, "")).Tip)
		}
		del := store.Request{Execution: "id", Nonce: nonce(), Expect: tip, State: store.StateDeleting, Claim: &store.Claim{When: store.Unowned}}
		tip = remember(commit(t, db, del).Tip)
		if done, err := db.Delete(context.Background(), "id", tip); err != nil || !done {
			t.Fatal(done, err)
		}
	}
	close(stop)
	readers.Wait()
	for _, tip := range seen {
		if !was[tip] {
			t.Fatalf("tip %+v never was", tip)
		}
	}
}
