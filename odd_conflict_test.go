package loom_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest/oddstore"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// patient is a flow with an effect, a timer and a wait for a word.
func patient(bodies *counter, calls *service) *loom.Flow[int, string] {
	return loom.NewFlow("patient", func(ctx loom.Context, _ int) (string, error) {
		bodies.inc()
		if _, err := step(ctx, calls, "charge"); err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
			return "", err
		}
		return loom.Await[string](ctx, "word")
	})
}

// nothingOf checks that a refused start left nothing: what was heard, the ids of the
// store, leases, the head row and the bytes of the log are as they were.
type traces struct {
	db     *memstore.DB
	heard  []*hears
	id     string
	said   string
	ids    []string
	leases int
	head   store.Head
	log    []event.Envelope
}

func tracesOf(t *testing.T, db *memstore.DB, id string, heard ...*hears) *traces {
	t.Helper()
	tr := &traces{db: db, heard: heard, id: id}
	tr.said, tr.ids, tr.leases, tr.head, tr.log = tr.look(t)
	return tr
}

func (tr *traces) look(t *testing.T) (said string, ids []string, leases int, head store.Head, log []event.Envelope) {
	t.Helper()
	synctest.Wait()
	for _, h := range tr.heard {
		said += fmt.Sprint(h.all(tr.id))
	}
	nodes, err := tr.db.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return said, everything(t, tr.db), len(nodes), headOf(t, tr.db, tr.id), logOf(t, tr.db, tr.id)
}

// same fails unless all is as it was.
func (tr *traces) same(t *testing.T) {
	t.Helper()
	said, ids, leases, head, log := tr.look(t)
	if said != tr.said || !slices.Equal(ids, tr.ids) || leases != tr.leases {
		t.Fatalf("heard %s, before %s; executions %v, before %v; %d leases, before %d", said, tr.said, ids, tr.ids, leases, tr.leases)
	}
	if fmt.Sprint(head) != fmt.Sprint(tr.head) || !slices.EqualFunc(log, tr.log, event.Envelope.Equal) {
		t.Fatalf("the head row is %+v, it was %+v; %d events, before %d", head, tr.head, len(log), len(tr.log))
	}
}

// A duplicate is a duplicate whatever the store stumbles over first and whatever it calls
// it: the caller's id, one commit, one read, and nothing else happened anywhere.
func TestADuplicateWhateverTheStoreSays(t *testing.T) {
	wide := func(s store.Store) store.Store { s.Log = oddstore.NewStoreWide(s.Log); return s }
	misnamed := func(name string, row func(*store.Result)) func(store.Store) store.Store {
		return func(s store.Store) store.Store {
			s.Log = &oddstore.Misnaming{Log: s.Log, Name: func(event.ExecutionID) event.ExecutionID { return event.ExecutionID(name) }, Row: row}
			return s
		}
	}
	for _, c := range []struct {
		name    string
		wrap    func(store.Store) store.Store
		claimed bool // somebody has taken the execution since
	}{
		{"claim B-14: duplicate sequence", func(s store.Store) store.Store { return s }, false},
		{"claim B-15: duplicate envelope id first", wide, false},
		{"claims B-16 and B-46: a stale token first", func(s store.Store) store.Store { return s }, true},
		{"claim B-16: both, under a wrong id", misnamed("order", nil), true},
		{"claim B-23: the conflict names another execution", misnamed("unrelated", nil), false},
		{"claim B-23: it shows the row of nothing", misnamed("unrelated", func(r *store.Result) { r.Tip, r.State = store.Absent(), store.StateKeep }), false},
		{"claim B-23: it shows another execution's row", misnamed("unrelated", func(r *store.Result) {
			r.Tip, r.Owner, r.Mail = store.Tip{Head: 99, Fence: 7, Anchor: "other"}, "somebody", 12
		}), false},
		{"claim B-21: a batch of the older kind, of one", func(s store.Store) store.Store { return oddstore.NewCoalescer(s).Store() }, false},
	} {
		t.Run(c.name+"; claims B-18, B-37 and B-68", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var bodies counter
				var calls service
				flow := patient(&bodies, &calls)
				db := memstore.New(nil)
				s := c.wrap(store.Of(db))
				mine, other := &hears{}, &hears{}
				winner, _ := lined(t, s, loom.Flows(flow), mine.hooks())
				run := begin(t, flow, winner, 7, loom.ID("x"))
				pass(t, time.Second)
				if c.claimed { // its own sleep ends: a claim
					pass(t, 2*time.Minute)
					if headOf(t, db, "x").Tip.Fence == 0 {
						t.Fatal("nobody has claimed it")
					}
				}
				loser, way := lined(t, s, loom.Flows(flow), other.hooks())
				synctest.Wait()
				entered := bodies.Load()
				before := tracesOf(t, db, "x", mine, other)
				way.forget()
				e := existing(t, flow, loser, 7, "x")
				if e.Flow != "patient" || !e.SameRequest || e.Status != fold.Running { // claim H-22
					t.Fatalf("%+v", e)
				}
				if e := existing(t, flow, loser, 8, "x"); e.SameRequest {
					t.Fatalf("another input is the same request: %+v", e)
				}
				before.same(t)
				way.asks(t, "x", "commit", "read 0..0", "commit", "read 0..0")
				if len(other.all("x")) != 0 || bodies.Load() != entered || calls.count("charge") != 1 {
					t.Fatalf("the loser heard %v, %d bodies, %d charges", other.all("x"), bodies.Load()-entered, calls.count("charge"))
				}
				signal(t, winner, "x", "word", "done")
				yields(t, run, "done") // its runner did not notice
				if calls.count("charge") != 1 {
					t.Fatalf("%d charges", calls.count("charge"))
				}
			})
		})
	}
}

// A row that the store shows with a refusal decides nothing either: a state that forbids
// a start is asked for by the start's own id.
func TestAStateOfSomebodyElseForbidsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := patient(&bodies, &calls)
		db := memstore.New(nil)
		for _, state := range []store.State{store.StateDeleting, store.StateMoving, store.StateForming} {
			id := "x-" + state.String()
			s := store.Of(db)
			odd := &oddstore.Misnaming{Log: s.Log, Name: func(event.ExecutionID) event.ExecutionID { return "unrelated" },
				Row: func(r *store.Result) { r.State, r.Refusal = state, store.RefusedState }}
			s.Log = odd
			rt, way := lined(t, s, loom.Flows(flow))
			begin(t, flow, rt, 0, loom.ID(id))
			pass(t, time.Second)
			way.forget()
			if e := existing(t, flow, rt, 0, id); e.Flow != "patient" || !e.SameRequest || e.Status != fold.Running { // claim B-23
				t.Fatalf("%+v", e)
			}
			way.asks(t, id, "commit", "read 0..0")
			shut(t, rt)
		}
	})
}

// claims B-23 and B-24: over a scope that prefixes ids, and reports the prefixed ones, the
// error has the caller's id, and the store below is asked for sequence 0 of the prefixed
// one, alone.
func TestAScopeReportsTheIDItWrote(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := patient(&bodies, &calls)
		db := memstore.New(nil)
		below := &line{}
		inner := store.Of(db)
		inner.Log = lineLog{inner.Log, below}
		rt, way := lined(t, oddstore.Scoped(inner, "acme/"), loom.Flows(flow))
		run := begin(t, flow, rt, 1, loom.ID("x"))
		pass(t, time.Second)
		wrote := len(below.of("acme/x"))
		if e := existing(t, flow, rt, 1, "x"); e.Flow != "patient" || !e.SameRequest {
			t.Fatalf("%+v", e)
		}
		got := below.words("acme/x")[wrote:]
		if !slices.Equal(got, []string{"commit", "read 0..0"}) || len(below.of("x")) != 0 {
			t.Fatalf("the store below was asked %q, and %d times about the bare id", got, len(below.of("x")))
		}
		if ids := everything(t, db); !slices.Equal(ids, []string{"acme/x"}) {
			t.Fatal(ids)
		}
		way.began(t, "x", "commit")
		signal(t, rt, "x", "word", "done")
		yields(t, run, "done")
	})
}

// claims B-27 and B-37: envelope id x-0 is another execution's. Nothing of x is there, so it is
// no duplicate: the start is sent once more, alone, and ends as a storage error whose
// cause is the conflict. Once the id is free again, it starts.
func TestAnEnvelopeIDThatAnotherExecutionOwns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		s := store.Of(db)
		wide := oddstore.NewStoreWide(s.Log)
		s.Log = wide
		heard := &hears{}
		rt, way := lined(t, s, loom.Flows(flow), heard.hooks())
		wide.Take("x-0")
		run, err := flow.Start(t.Context(), rt, 0, loom.ID("x"))
		var failed *loom.StorageWriteError
		var taken *seedapi.DuplicateEnvelopeError
		var exists *loom.ExecutionAlreadyExistsError
		if run != nil || !errors.As(err, &failed) || failed.ID != "x" || !failed.Definite || !errors.As(err, &taken) || taken.ID != "x-0" || errors.As(err, &exists) {
			t.Fatal(err)
		}
		synctest.Wait()
		way.asks(t, "x", "commit", "read 0..0", "alone", "read 0..0")
		if got := fmt.Sprint(heard.all("x")); got != "[storage-error]" || len(everything(t, db)) != 0 {
			t.Fatalf("heard %s, executions %v", got, everything(t, db))
		}
		bodies.is(t, "body entered", 0)
		wide.Free("x-0")
		yields(t, begin(t, flow, rt, 0, loom.ID("x")), "done")
		bodies.is(t, "body entered", 1)
	})
}
