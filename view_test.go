package loom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// fixtures runs one execution into each state that there is, and returns the store and
// a runtime over it. The ids are those of the states.
func fixtures(t *testing.T) (*memstore.DB, *loom.Runtime) {
	t.Helper()
	hold := shutGate(t)
	flow := loom.NewFlow("fixture", func(ctx loom.Context, how string) (string, error) {
		switch how {
		case "completed":
			return how, nil
		case "failed":
			return "", errDeclined
		case "panicked":
			panic(how)
		case "busy":
			return loom.Do(ctx, "busy", func(context.Context) (string, error) { hold.pass(); return how, nil })
		case "waiting", "parked-await":
			return loom.Await[string](ctx, "word")
		case "retrying":
			return loom.Do(ctx, "x", func(context.Context) (string, error) { return "", errDeclined }, loom.Retry{Attempts: 2, Initial: time.Hour})
		}
		return how, loom.Sleep(ctx, "nap", time.Hour)
	})
	other := loom.NewFlow("other", func(loom.Context, int) (int, error) { return 0, nil })
	db := memstore.New(nil)
	rt := open(t, db, loom.Flows(flow, other), loom.Tuning{Unload: time.Minute})
	for i, how := range []string{"completed", "failed", "panicked", "cancelled", "overdue", "sleeping", "busy", "waiting", "retrying"} {
		opts := []loom.StartOption{loom.ID(how), loom.Labels(map[string]string{"how": how}), loom.Labels(map[string]string{"odd": fmt.Sprint(i % 2)})}
		if how == "overdue" {
			opts = append(opts, loom.Deadline(time.Now().Add(time.Second)))
		}
		begin(t, flow, rt, how, opts...)
		pass(t, time.Millisecond)
	}
	if err := rt.Cancel(t.Context(), "cancelled", ""); err != nil {
		t.Fatal(err)
	}
	begin(t, flow, rt, "delayed", loom.ID("delayed"), loom.Delay(time.Hour))
	begin(t, other, rt, 0, loom.ID("other"))
	pass(t, 10*time.Second)
	return db, rt
}

// A list and a detail show one fold: a row's status is that of the folded log.
func TestAListsStatusIsThatOfTheFold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db, rt := fixtures(t)
		n := 0
		for s, err := range rt.List(t.Context(), loom.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			state, err := rt.State(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			if s.Status != state.Status || s.Flow != state.Flow || s.Events != int64(state.Head)+1 || fmt.Sprint(s.Labels) != fmt.Sprint(state.Labels) {
				t.Errorf("%s: listed as %+v, folds to %s %s with %d events", s.ID, s, state.Flow, state.Status, state.Head+1)
			}
			one, err := rt.Summary(t.Context(), s.ID)
			if err != nil || fmt.Sprint(one) != fmt.Sprint(s) {
				t.Errorf("%+v, %v; listed as %+v", one, err, s)
			}
			if state.Status.Terminal() && (s.Owner != "" || !s.WakeAt.IsZero()) {
				t.Errorf("%s has ended: %+v", s.ID, s)
			}
		}
		if n != 11 {
			t.Fatalf("%d listed", n)
		}
		want := map[string]fold.Status{"completed": fold.Completed, "failed": fold.Failed, "panicked": fold.Failed, "cancelled": fold.Cancelled,
			"overdue": fold.Failed, "sleeping": fold.Running, "busy": fold.Running, "waiting": fold.Running, "retrying": fold.Running,
			"delayed": fold.Running, "other": fold.Completed}
		for id, status := range want {
			if s := stateOf(t, db, id); s.Status != status {
				t.Errorf("%s is %s, want %s", id, s.Status, status)
			}
		}
	})
}

func TestListFilters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, rt := fixtures(t)
		ids := func(f loom.Filter) string {
			var out []string
			for s, err := range rt.List(t.Context(), f) {
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, s.ID)
			}
			return fmt.Sprint(out)
		}
		for _, c := range []struct {
			f    loom.Filter
			want string
		}{
			{loom.Filter{Flow: "other"}, "[other]"},
			{loom.Filter{Flow: "nobody"}, "[]"},
			{loom.Filter{Status: fold.Failed}, "[overdue panicked failed]"},
			{loom.Filter{Status: fold.Cancelled}, "[cancelled]"},
			{loom.Filter{Status: fold.Running}, "[delayed retrying waiting busy sleeping]"},
			{loom.Filter{Status: fold.Running, Labels: map[string]string{"odd": "1"}}, "[waiting sleeping]"},
			{loom.Filter{Labels: map[string]string{"odd": "1", "how": "failed"}}, "[failed]"},
			{loom.Filter{Labels: map[string]string{"odd": "1", "how": "completed"}}, "[]"},
			{loom.Filter{Prefix: "de"}, "[delayed]"},
			{loom.Filter{Prefix: "D"}, "[]"},
			{loom.Filter{Prefix: "%"}, "[]"},
			{loom.Filter{Status: "nonsense"}, "[]"},
		} {
			if got := ids(c.f); got != c.want {
				t.Errorf("%+v: %s, want %s", c.f, got, c.want)
			}
		}
	})
}

func TestListYieldsMoreThanAPageAndMayBeLeftEarly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(_ loom.Context, n int) (int, error) { return n, nil })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		for i := range 250 {
			begin(t, flow, rt, i, loom.ID(fmt.Sprintf("e%03d", i)))
		}
		n := 249
		for s, err := range rt.List(t.Context(), loom.Filter{}) {
			if want := fmt.Sprintf("e%03d", n); err != nil || s.ID != want {
				t.Fatalf("%s, %v; want %s", s.ID, err, want)
			}
			n--
		}
		if n != -1 {
			t.Fatalf("stopped at %d", n)
		}
		for range rt.List(t.Context(), loom.Filter{}) {
			break
		}
	})
}

func TestLogYieldsFromASequence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db, rt := fixtures(t)
		all := logOf(t, db, "cancelled")
		for from := range len(all) + 2 {
			var got []event.Envelope
			for e, err := range rt.Log(t.Context(), "cancelled", int64(from)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e)
			}
			if want := all[min(from, len(all)):]; !slices.EqualFunc(got, want, event.Envelope.Equal) {
				t.Fatalf("from %d: %s", from, kinds(got))
			}
		}
	})
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(_ loom.Context, n int) (int, error) { return n, nil })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		errs := map[string]error{}
		for _, err := range rt.Log(t.Context(), "nobody", 0) {
			errs["Log"] = err
		}
		for _, err := range rt.Follow(t.Context(), "nobody", 0) {
			errs["Follow"] = err
		}
		_, errs["State"] = rt.State(t.Context(), "nobody")
		_, errs["Summary"] = rt.Summary(t.Context(), "nobody")
		_, errs["Result"] = attach[int](t, rt, "nobody").Result(t.Context())
		errs["Signal"] = rt.Signal(t.Context(), "nobody", "m", 1)
		errs["Cancel"] = rt.Cancel(t.Context(), "nobody", "")
		for what, err := range errs {
			if !errors.Is(err, loom.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if len(errs) != 7 {
			t.Fatalf("%d answers: %v", len(errs), errs)
		}
	})
}
