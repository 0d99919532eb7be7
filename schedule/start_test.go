package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/schedule"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

var night = schedule.Occurrence{Schedule: "nightly", At: time.Date(2000, 1, 2, 2, 30, 0, 0, time.UTC)}

const nightID = "nightly@2000-01-02T02:30:00Z"

// report is a flow with one step that counts its calls.
func report(calls *atomic.Int64) *loom.Flow[string, int64] {
	return loom.NewFlow("report", func(ctx loom.Context, _ string) (int64, error) {
		return loom.Do(ctx, "send", func(context.Context) (int64, error) { return calls.Add(1), nil })
	})
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// claims B-40, B-47 and B-48, oracle O14: services of n nodes start one occurrence, and
// their calls of the store come in every order there is. One of them started it, its
// effect was called once, over the race and the recovery that looks after it; no token
// was taken; the others heard nothing, and nobody was told an error.
func TestServicesStartAnOccurrenceOnceInEveryOrder(t *testing.T) {
	for _, services := range []int{2, 3} {
		t.Run(fmt.Sprint(services), func(t *testing.T) {
			orders, met := 0, map[string]int{}
			for p := (&path{}); ; {
				synctest.Test(t, func(t *testing.T) { race(t, services, p, met) })
				if orders++; t.Failed() || !p.next() {
					break
				}
			}
			t.Logf("%d orders; the losers' calls of the store: %v", orders, met)
			if met["[get]"] == 0 || met["[get commit read]"] == 0 || len(met) != 2 {
				t.Error("a loser looks and finds it, or is refused and reads what refused it; nothing else")
			}
			t.Logf("tally: interleavings=%d", orders)
		})
	}
}

// race plays one order; met counts what the losers asked of the store.
func race(t *testing.T, services int, p *path, met map[string]int) {
	db := memstore.New(nil)
	var calls, won, done, failed atomic.Int64
	turn := &turnstile{}
	var nodes []*node
	for i := range services {
		n := join(t, &way{name: fmt.Sprint("n", i), db: db, turn: turn}, report(&calls))
		nodes = append(nodes, n)
		go func() {
			one := func(yield func(schedule.Occurrence) bool) { yield(night) }
			in := func(o schedule.Occurrence) string { return o.At.String() }
			started, err := schedule.Each(t.Context(), n.Runtime, one, report(&calls), in, func(schedule.Occurrence, error) { failed.Add(1) })
			if err != nil {
				failed.Add(1)
			}
			won.Add(int64(started))
			done.Add(1)
		}()
	}
	for held := turn.held(); len(held) > 0; held = turn.held() {
		turn.let(held[p.choose(len(held))])
	}
	if done.Load() != int64(services) || won.Load() != 1 || failed.Load() != 0 || calls.Load() != 1 {
		t.Errorf("%d of %d answered, %d started it, %d errors, %d calls", done.Load(), services, won.Load(), failed.Load(), calls.Load())
	}
	starters := 0
	for _, n := range nodes {
		did, heard := fmt.Sprint(n.way.did()), n.hears()
		if len(heard) > 0 {
			starters++
			continue
		}
		met[did]++
		for _, r := range n.way.requests() {
			if r.Expect.Exists() {
				t.Errorf("a loser sent %+v", r)
			}
		}
	}
	if starters != 1 {
		t.Errorf("%d nodes heard of events", starters)
	}
	turn.open()
	late := join(t, &way{name: "late", db: db}, report(&calls))
	pass(10 * time.Second) // many leases, and many looks
	h, ok, err := db.Get(t.Context(), nightID)
	if err != nil || !ok || h.Tip.Fence != 0 || h.State != store.StateCompleted || calls.Load() != 1 {
		t.Errorf("after recovery looked: %+v, %v, %v, %d calls", h, ok, err, calls.Load())
	}
	if heads, _, err := db.List(t.Context(), store.Query{}); err != nil || len(heads) != 1 {
		t.Errorf("%d executions, %v", len(heads), err)
	}
	if heard := late.hears(); len(heard) != 0 {
		t.Errorf("who came late heard %v", heard)
	}
}

// claim B-38: an occurrence that is visibly there costs a look and no write; claim B-03:
// its log has the id that the schedule and the instant spell.
func TestAnOccurrenceThatIsThereIsNotStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(nil)
		var calls atomic.Int64
		w := &way{name: "first", db: db}
		n := join(t, w, report(&calls))
		if started, err := schedule.Start(t.Context(), n.Runtime, night, report(&calls), ""); !started || err != nil {
			t.Fatal(started, err)
		}
		run, err := loom.Attach[int64](n.Runtime, nightID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run.Result(t.Context()); got != 1 || err != nil {
			t.Fatal(got, err)
		}
		pass(time.Second)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		// After a restart, elsewhere, and said in another zone.
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("east", 14*3600), time.FixedZone("west", -12*3600+1)} {
			w := &way{name: "next", db: db}
			n := join(t, w, report(&calls))
			o := schedule.Occurrence{Schedule: night.Schedule, At: night.At.In(zone)}
			started, err := schedule.Start(t.Context(), n.Runtime, o, report(&calls), "")
			if started || err != nil || !slices.Equal(w.did(), []string{"get"}) {
				t.Fatalf("in zone %v: %v, %v, after %v", zone, started, err, w.did())
			}
		}
		if calls.Load() != 1 {
			t.Fatalf("%d calls", calls.Load())
		}
	})
}

// claim B-48: a start of an occurrence takes no token, before its one commit or after; the
// first claim of another node takes token 1.
func TestAStartOfAnOccurrenceTakesNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(nil)
		held := make(chan struct{})
		flow := loom.NewFlow("wait", func(ctx loom.Context, _ string) (string, error) { return loom.Await[string](ctx, "go") })
		w := &way{name: "first", db: db}
		n := join(t, w, flow)
		if started, err := schedule.Start(t.Context(), n.Runtime, night, flow, ""); !started || err != nil {
			t.Fatal(started, err)
		}
		sent := w.requests()
		if len(sent) == 0 || sent[0].Expect.Exists() || len(sent[0].Events) != 1 || len(sent[0].Events[0].Meta) != 0 {
			t.Fatalf("the start sent %+v", sent)
		}
		for _, r := range sent[1:] {
			if r.Claim != nil {
				t.Fatalf("and then claimed: %+v", r)
			}
		}
		if h, _, err := db.Get(t.Context(), nightID); err != nil || h.Tip.Fence != 0 {
			t.Fatal(h, err)
		}
		close(held)
		if err := n.Close(); err != nil { // lets it go
			t.Fatal(err)
		}
		second := join(t, &way{name: "second", db: db}, flow)
		if err := second.Signal(t.Context(), nightID, "go", "on"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		if h, _, err := db.Get(t.Context(), nightID); err != nil || h.State != store.StateCompleted || h.Tip.Fence == 0 {
			t.Fatalf("%+v, %v", h, err)
		}
	})
}

// claim B-39: of a row of occurrences, one that somebody else started is passed over
// without a word, one that cannot be started is told once, and the rest start.
func TestEachGoesOnToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(nil)
		var calls atomic.Int64
		flow := report(&calls)
		row := make([]schedule.Occurrence, 5)
		for i := range row {
			row[i] = schedule.Occurrence{Schedule: "nightly", At: night.At.AddDate(0, 0, i)}
		}
		row[1].At = row[1].At.Add(time.Nanosecond) // has no id
		w := &way{name: "loser", db: db}
		n := join(t, w, flow)
		other := join(t, &way{name: "winner", db: db}, flow)
		lost, _ := row[2].ID()
		down, _ := row[3].ID()
		w.answer = func(r store.Request) (store.Result, bool) {
			switch r.Execution {
			case lost: // somebody is quicker, between the look and the start
				if started, err := schedule.Start(context.Background(), other.Runtime, row[2], flow, ""); !started || err != nil {
					t.Error(started, err)
				}
			case down: // the store does not take it
				return store.Result{Outcome: store.Failed, Err: errDown}, true
			}
			return store.Result{}, false
		}
		told := map[event.ExecutionID]int{}
		var errs []error
		started, err := schedule.Each(t.Context(), n.Runtime, slices.Values(row), flow, func(schedule.Occurrence) string { return "" },
			func(o schedule.Occurrence, err error) {
				id, _ := o.ID()
				told[id]++
				errs = append(errs, err)
			})
		if started != 2 || err != nil {
			t.Fatal(started, err)
		}
		var bad *schedule.OccurrenceError
		var write *loom.StorageWriteError
		if len(errs) != 2 || !errors.As(errs[0], &bad) || !errors.As(errs[1], &write) || !errors.Is(errs[1], errDown) || told[down] != 1 || told[lost] != 0 {
			t.Fatalf("told %v: %v", told, errs)
		}
		pass(10 * time.Second)
		if calls.Load() != 3 {
			t.Fatalf("%d calls for 3 occurrences", calls.Load())
		}
	})
}

var errDown = errors.New("the store is down")

// A service that is told to stop starts no more, and says why.
func TestEachEndsWithItsContextAndWithTheRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		flow := report(&calls)
		n := join(t, &way{name: "n", db: memstore.New(nil)}, flow)
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		endless := func(yield func(schedule.Occurrence) bool) {
			for i := 0; yield(schedule.Occurrence{Schedule: "s", At: night.At.Add(time.Duration(i) * time.Hour)}); i++ {
				if i == 2 {
					cancel(stopped)
				}
			}
		}
		quiet := func(_ schedule.Occurrence, err error) { t.Errorf("told of %v", err) }
		in := func(schedule.Occurrence) string { return "" }
		if n, err := schedule.Each(ctx, n.Runtime, endless, flow, in, quiet); n != 3 || !errors.Is(err, stopped) {
			t.Fatal(n, err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := schedule.Each(t.Context(), n.Runtime, endless, flow, in, quiet); n != 0 || !errors.Is(err, loom.ErrClosed) {
			t.Fatal(n, err)
		}
	})
}
