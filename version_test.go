package loom_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// shipping is a flow before a change, and with it: calls is the outside world. It loops,
// so that one execution meets the change several times.
func shipping(s *service, build string) *loom.Flow[int, string] {
	return loom.NewFlow("ship", func(ctx loom.Context, n int) (string, error) {
		var did []string
		for range n {
			name := "sea"
			switch build {
			case "old":
			case "new":
				if loom.Version(ctx, "by-air", 0, 1) == 1 {
					name = "air"
				}
			case "newer":
				if v := loom.Version(ctx, "by-air", 1, 2); v == 1 {
					name = "air"
				} else {
					name = "rocket"
				}
			}
			v, err := step(ctx, s, name)
			if err != nil {
				return "", err
			}
			did = append(did, v)
			if err := loom.Sleep(ctx, "nap", time.Hour); err != nil {
				return "", err
			}
		}
		return strings.Join(did, " "), nil
	})
}

// runs opens a build over db, lets d pass, and closes it.
func runs(t *testing.T, db *memstore.DB, flow *loom.Flow[int, string], d time.Duration) {
	t.Helper()
	rt := open(t, db, loom.Flows(flow))
	pass(t, d)
	shut(t, rt)
}

// case 71: whether a marker is there depends on the log alone: an execution that has gone
// on without it stays without it there, and one at the live edge gets it, and keeps it
// under every later build.
func TestVersionIsAnsweredByTheLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		begin(t, shipping(s, "old"), client, 4, loom.ID("a"))
		runs(t, db, shipping(s, "old"), 90*time.Minute) // two by sea
		begin(t, shipping(s, "new"), client, 2, loom.ID("b"))
		runs(t, db, shipping(s, "new"), time.Hour) // a: the third, by air from here on; b: its first
		yields(t, attach[string](t, open(t, db, loom.Flows(shipping(s, "new"))), "a"), "sea sea air air")
		yields(t, attach[string](t, client, "b"), "air air")
		for id, want := range map[string]string{"a": "1", "b": "1"} {
			marks := payloads[event.VersionMarked](t, db, id)
			if len(marks) != 1 || fmt.Sprint(marks[0].Version) != want || stateOf(t, db, id).Versions["by-air"] != 1 {
				t.Fatalf("%s: %+v", id, marks)
			}
		}
	})
}

// An execution whose version the build does not have any more is let go, unharmed: nothing
// is written or called, people are told what is recorded against what was asked, and a
// build that has it goes on.
func TestAVersionThatIsGoneDiverges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		begin(t, shipping(s, "old"), client, 3, loom.ID("sea"))
		runs(t, db, shipping(s, "old"), 30*time.Minute)
		begin(t, shipping(s, "new"), client, 2, loom.ID("air"))
		newer := open(t, db, loom.Flows(shipping(s, "newer")))
		pass(t, 40*time.Minute)
		begin(t, shipping(s, "newer"), newer, 1, loom.ID("rocket"))
		before := logOf(t, db, "sea")
		_, err := attach[string](t, newer, "sea").Result(soon(t))
		var d *loom.DivergedError
		if !errors.As(err, &d) || d.Sequence != 1 {
			t.Fatalf("%v", err)
		}
		if got := logOf(t, db, "sea"); len(got) != len(before) {
			t.Fatalf("%s was written", kinds(got))
		}
		yields(t, attach[string](t, client, "rocket"), "rocket")
		yields(t, attach[string](t, client, "air"), "rocket rocket") // nothing of it had run
		shut(t, newer)
		yields(t, attach[string](t, open(t, db, loom.Flows(shipping(s, "new"))), "sea"), "sea air air")
	})
}

// A recorded version outside of the range, met at the live edge, writes no command: the
// event of the turn is durable, and a fixed build goes on from it.
func TestAVersionThatIsGoneAtTheLiveEdge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		build := func(min int) *loom.Flow[int, string] {
			return loom.NewFlow("f", func(ctx loom.Context, _ int) (string, error) {
				first := loom.Version(ctx, "c", 0, 1)
				if _, err := step(ctx, s, "a"); err != nil {
					return "", err
				}
				second := loom.Version(ctx, "c", min, max(min, 1))
				return fmt.Sprint(first, second), nil
			})
		}
		broken := open(t, db, loom.Flows(build(2)))
		run := begin(t, build(2), broken, 0, loom.ID("x"))
		var d *loom.DivergedError
		if _, err := run.Result(soon(t)); !errors.As(err, &d) || !strings.Contains(d.Recorded, "version 1 of c") {
			t.Fatal(err)
		}
		if got := kinds(logOf(t, db, "x")); got != "EXECUTION_STARTED VERSION_MARKED EFFECT_SCHEDULED EFFECT_COMPLETED" {
			t.Fatal(got)
		}
		shut(t, broken)
		yields(t, attach[string](t, open(t, db, loom.Flows(build(1))), "x"), "1 1")
		if s.count("a") != 1 {
			t.Fatal("the step was called again")
		}
	})
}

// A call that was taken out while an execution has it recorded is a divergence that says
// so.
func TestAVersionCallMayNotDisappear(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		begin(t, shipping(s, "new"), client, 2, loom.ID("x"))
		runs(t, db, shipping(s, "new"), time.Minute)
		_, err := attach[string](t, open(t, db, loom.Flows(shipping(s, "old")), loom.Tuning{Unload: 2 * time.Hour}), "x").Result(soon(t))
		var d *loom.DivergedError
		if !errors.As(err, &d) || d.Recorded != "VERSION_MARKED by-air version 1" || d.Asked != "EFFECT_SCHEDULED sea#1" {
			t.Fatal(err)
		}
	})
}

func TestBadVersionsPanic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []struct {
			change   string
			min, max int
		}{{"", 0, 1}, {"loom.x", 0, 1}, {"a b", 0, 1}, {"c", -1, 1}, {"c", 0, 0}, {"c", 2, 1}} {
			flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) { return loom.Version(ctx, c.change, c.min, c.max), nil })
			if err := fails(t, begin(t, flow, open(t, memstore.New(nil), loom.Flows(flow)), 0)); !errors.Is(err, loom.Code(event.CodePanic)) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if v := func() (v any) {
			defer func() { v = recover() }()
			var leaked loom.Context
			flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) { leaked = ctx; return 0, nil })
			yields(t, begin(t, flow, open(t, memstore.New(nil), loom.Flows(flow)), 0), 0)
			loom.Version(leaked, "c", 0, 1)
			return nil
		}(); v == nil {
			t.Error("no panic outside of a body")
		}
	})
}
