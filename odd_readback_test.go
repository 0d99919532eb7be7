package loom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest/oddstore"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// cannotStart starts an execution that must end in a storage error, and returns it; it is
// no duplicate, there is no handle and one report.
func cannotStart(t *testing.T, ctx context.Context, flow *loom.Flow[int, string], rt *loom.Runtime, heard *hears, id string) error {
	t.Helper()
	reports := len(heard.all(id))
	run, err := flow.Start(ctx, rt, 0, loom.ID(id))
	var failed *loom.StorageWriteError
	var exists *loom.ExecutionAlreadyExistsError
	if run != nil || !errors.As(err, &failed) || string(failed.ID) != id || errors.As(err, &exists) {
		t.Fatalf("start of %s: %v, %v; want a StorageWriteError", id, run, err)
	}
	synctest.Wait()
	if got := heard.all(id); len(got) != reports+1 || got[reports] != "storage-error" {
		t.Fatalf("heard %v of %s", got, id)
	}
	return err
}

// claim B-28: a conflict, and the store cannot say whether sequence 0 is there: a storage
// error with the read's cause. No second commit is sent, whether it is there or not.
func TestAConflictThatCannotBeReadBack(t *testing.T) {
	dead := errors.New("connection refused")
	for _, c := range []struct {
		name string
		err  func(ctx context.Context) error
		want error
	}{
		{"the store is dead", func(context.Context) error { return dead }, dead},
		{"the row does not decode", func(context.Context) error { return fmt.Errorf("%w: sequence 0 of x", store.ErrCorrupt) }, store.ErrCorrupt},
		{"the store takes too long", func(context.Context) error { return context.DeadlineExceeded }, context.DeadlineExceeded},
		{"it does not answer until the caller gives up", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, errDeclined},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var bodies counter
				var calls service
				flow := worked(&bodies, &calls)
				db := memstore.New(nil)
				s := store.Of(db)
				wide := oddstore.NewStoreWide(s.Log)
				blind := &oddstore.Blind{Log: wide}
				s.Log = blind
				heard := &hears{}
				rt, way := lined(t, s, loom.Flows(flow), heard.hooks())
				yields(t, begin(t, flow, rt, 0, loom.ID("there")), "done")
				wide.Take("absent-0")
				synctest.Wait()
				before := tracesOf(t, db, "there")
				blind.Err = c.err
				entered := bodies.Load()
				for _, id := range []string{"there", "absent"} {
					way.forget()
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errDeclined)
					err := cannotStart(t, ctx, flow, rt, heard, id)
					cancel()
					if !errors.Is(err, c.want) {
						t.Fatal(err)
					}
					way.asks(t, id, "commit", "read 0..0")
				}
				before.same(t)
				bodies.is(t, "body entered", entered)
				blind.Err = nil
				existing(t, flow, rt, 0, "there")
				wide.Free("absent-0")
				yields(t, begin(t, flow, rt, 0, loom.ID("absent")), "done") // nothing is in the way
			})
		})
	}
}

// claim B-29: somebody took a newer token for the id and wrote nothing. The start
// is stale twice and nothing is there: a storage error whose cause says that it was fenced
// out and may be tried again, and then it starts once.
func TestAStartThatIsFencedOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		s := store.Of(db)
		fenced := &oddstore.Prefenced{Log: s.Log}
		s.Log = fenced
		heard := &hears{}
		rt, way := lined(t, s, loom.Flows(flow), heard.hooks())
		fenced.Fence("x", 2)
		err := cannotStart(t, t.Context(), flow, rt, heard, "x")
		var out *loom.StartFencedOutError
		if !errors.As(err, &out) || out.ID != "x" || !out.Retryable() {
			t.Fatal(err)
		}
		way.asks(t, "x", "commit", "read 0..0", "alone", "read 0..0")
		bodies.is(t, "body entered", 0)
		if ids := everything(t, db); len(ids) != 0 {
			t.Fatal(ids)
		}
		yields(t, begin(t, flow, rt, 0, loom.ID("x")), "done")

		way.forget()
		fenced.Fence("y", 1) // claim B-30: stale once, and nothing is there
		yields(t, begin(t, flow, rt, 0, loom.ID("y")), "done")
		way.began(t, "y", "commit", "read 0..0", "alone")
		bodies.is(t, "body entered", 2)
		if got := heard.all("y"); slices.Contains(got, "storage-error") || calls.count("") != 4 {
			t.Fatalf("heard %v, %d calls", got, calls.count(""))
		}
	})
}

// A start that is stale once and meets another conflict then was not fenced out.
func TestAStartThatIsStaleOnceIsNotFencedOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		s := store.Of(memstore.New(nil))
		wide := oddstore.NewStoreWide(s.Log)
		wide.Take("x-0")
		fenced := &oddstore.Prefenced{Log: wide}
		s.Log = fenced
		heard := &hears{}
		rt, _ := lined(t, s, loom.Flows(flow), heard.hooks())
		fenced.Fence("x", 1)
		err := cannotStart(t, t.Context(), flow, rt, heard, "x")
		var out *loom.StartFencedOutError
		var taken *seedapi.DuplicateEnvelopeError
		if errors.As(err, &out) || !errors.As(err, &taken) {
			t.Fatal(err)
		}
	})
}

// claim B-65: a store that reads logs whole is read only where a conflict must be looked
// into, once, and no further than the first event.
func TestAStoreThatReadsLogsWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		s := store.Of(db)
		whole := &oddstore.Rangeless{Log: s.Log}
		s.Log = whole
		rt, way := lined(t, s, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("x"))
		until(t, "its end", func() bool { return headOf(t, db, "x").State.Terminal() })
		if got := whole.Taken(); len(got) != 0 {
			t.Fatalf("a start that succeeds read %v events", got)
		}
		if len(logOf(t, db, "x")) < 6 {
			t.Fatal("a log too short to tell")
		}
		way.forget()
		existing(t, flow, rt, 0, "x")
		way.asks(t, "x", "commit", "read 0..0")
		if got := whole.Taken(); !slices.Equal(got, []int{1}) {
			t.Fatalf("a conflict read %v events", got)
		}
		yields(t, run, "done")
	})
}

// claim B-66: behind a replica that is behind. Where strong reads go to the writer, a
// duplicate is one. Where they do not, sequence 0 is not to be seen: the start is sent once
// more and ends as a storage error; nothing ran. Once the replica has caught up, it is a
// duplicate. The second look is what two starts of one id need (claim B-26).
func TestAReplicaThatIsBehind(t *testing.T) {
	for _, honours := range []bool{true, false} {
		t.Run(fmt.Sprint("strong reads honoured: ", honours), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var bodies counter
				var calls service
				flow := worked(&bodies, &calls)
				db := memstore.New(nil)
				s := store.Of(db)
				replica := &oddstore.Lagging{Log: s.Log, HonoursStrong: honours}
				s.Log = replica
				heard := &hears{}
				writer := open(t, db, loom.Flows(flow))
				rt, way := lined(t, s, loom.Flows(flow), heard.hooks())
				yields(t, begin(t, flow, writer, 0, loom.ID("x")), "done")
				before := tracesOf(t, db, "x")
				if honours {
					existing(t, flow, rt, 0, "x")
					way.asks(t, "x", "commit", "read 0..0")
				} else {
					cannotStart(t, t.Context(), flow, rt, heard, "x")
					way.asks(t, "x", "commit", "read 0..0", "alone", "read 0..0")
					if err := replica.CatchUp(t.Context(), event.ExecutionID("x")); err != nil {
						t.Fatal(err)
					}
					existing(t, flow, rt, 0, "x")
				}
				before.same(t)
				bodies.is(t, "body entered", 1)
			})
		})
	}
}
