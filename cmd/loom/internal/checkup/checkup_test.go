package checkup

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

// case 26: a run of a flow that no present build has is found, with what to do about it;
// a run that is not due, or that somebody drives, is not.
func TestARunThatNoBuildFitsIsFound(t *testing.T) {
	ctx := context.Background()
	var now atomic.Int64
	now.Store(int64(event.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))))
	db, err := sqlite.OpenDB(ctx, filepath.Join(t.TempDir(), "loom.db"), sqlite.WithClock(func() event.Time { return event.Time(now.Load()) }))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	st := store.Of(db)
	st.Records = db.Records()
	for i, id := range []event.ExecutionID{"left-alone", "not-due", "driven"} {
		req := store.Request{Execution: id, Nonce: store.Nonce{byte(i + 1)}, Expect: store.Absent(), Index: &store.IndexEntry{Flow: "of-a-new-build"},
			Events:  []event.Envelope{event.New(id, 0, event.Time(now.Load()), event.ExecutionStarted{Flow: "of-a-new-build", Input: []byte("1"), Seed: "00"}, nil)},
			Release: &store.Release{}}
		switch id {
		case "not-due":
			req.Release.WakeAt = event.Time(now.Load()).Add(time.Hour)
		case "driven":
			if _, err := db.Renew(ctx, "worker", time.Hour, []string{"of-a-new-build"}); err != nil {
				t.Fatal(err)
			}
			req.Release, req.Claim = nil, &store.Claim{Owner: "worker", When: store.AnyOwner}
		}
		if res, err := db.Commit(ctx, req); err != nil || res[0].Outcome != store.Committed {
			t.Fatal(res, err)
		}
	}
	overdue := func() Finding {
		var c Checkup
		c.Store(ctx, st, db, event.Time(now.Load()).Time())
		for _, f := range c.Findings {
			if f.Check == "overdue" {
				return f
			}
		}
		t.Fatalf("nothing about what is overdue: %+v", c.Findings)
		return Finding{}
	}
	if f := overdue(); f.Verdict != OK {
		t.Fatalf("at once: %+v", f)
	}
	now.Add(int64(2 * late / time.Microsecond))
	if f := overdue(); f.Verdict != Warn || f.Detail != "1 executions are due and no node takes them" || f.Fix == "" {
		t.Fatalf("a minute later: %+v", f)
	}
	// And the list shows it as nobody's, with the time at which it was due.
	rt, err := loom.Open(ctx, store.Opened(st), loom.Tuning{ClientOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	s, err := rt.Summary(ctx, "left-alone")
	if err != nil || s.Owner != "" || s.Flow != "of-a-new-build" || s.WakeAt.IsZero() || s.WakeAt.After(event.Time(now.Load()).Time()) {
		t.Fatalf("%+v, %v", s, err)
	}
}

// case 26: an old run that needs a version which no worker has any more is named, with the
// version; while no worker runs at all, nothing is.
func TestAVersionThatNoWorkerHasIsNamed(t *testing.T) {
	ctx := context.Background()
	db, err := sqlite.OpenDB(ctx, filepath.Join(t.TempDir(), "loom.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	st := store.Of(db)
	st.Records = db.Records()
	body := func(loom.Context, int) (int, error) { return 0, nil }
	client, err := loom.Open(ctx, store.Opened(st), loom.Tuning{ClientOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for id, version := range map[string]string{"a": "2025", "b": "2025", "c": "2026"} {
		if _, err := loom.NewFlow("order", body, loom.FlowVersion(version)).Start(ctx, client, 0, loom.ID(id)); err != nil {
			t.Fatal(err)
		}
	}
	unknown := func() Finding {
		var c Checkup
		c.Store(ctx, st, db, time.Now())
		for _, f := range c.Findings {
			if f.Check == "unknown" {
				return f
			}
		}
		t.Fatalf("nothing about what is unknown: %+v", c.Findings)
		return Finding{}
	}
	for _, c := range []struct {
		has  []string
		want Finding
	}{
		{nil, Finding{Check: "unknown", Verdict: OK, Detail: "no worker is running"}},
		{[]string{"order@2026", "order"}, Finding{Check: "unknown", Verdict: Warn, Fix: "start a worker that has these flows in these versions",
			Detail: "2 executions need what none of 1 workers has: order@2025 (2)"}},
		{[]string{"order@2026", "order@2025"}, Finding{Check: "unknown", Verdict: OK, Detail: "1 workers have the flows and versions of all executions"}},
	} {
		if _, err := db.Renew(ctx, "worker", time.Hour, c.has); err != nil {
			t.Fatal(err)
		}
		if got := unknown(); got != c.want {
			t.Errorf("with a worker that has %q: %+v, want %+v", c.has, got, c.want)
		}
	}
}
