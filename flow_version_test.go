package loom_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// freight is a flow in a version: a step that names the version, a sleep, a message, and a
// step again. Each version's steps are called otherwise, so that another version's body
// diverges.
func freight(s *service, version string) *loom.Flow[int, string] {
	var opts []loom.FlowOption
	name := "none"
	if version != "" {
		opts, name = append(opts, loom.FlowVersion(version)), version
	}
	return loom.NewFlow("freight", func(ctx loom.Context, _ int) (string, error) {
		first, err := step(ctx, s, "pack-"+name)
		if err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "rest-"+name, time.Minute); err != nil {
			return "", err
		}
		if _, err := loom.Await[bool](ctx, "go"); err != nil {
			return "", err
		}
		second, err := step(ctx, s, "send-"+name)
		return first + " " + second, err
	}, opts...)
}

// claim H-02, case 26: in a rolling deploy each execution is driven by the version that it
// was started with, whoever starts it, crash of a node included; a node that lacks the
// version takes nothing over, and what no node can drive is shown as such.
func TestAnExecutionStaysWithItsVersion(t *testing.T) {
	for _, from := range []string{"", "1"} { // the first version that a flow gets is a change like any other
		bubble(t, func(t *testing.T) {
			var calls service
			old, next := freight(&calls, from), freight(&calls, "2")
			packedOld, packedNew := "pack-none send-none", "pack-2 send-2"
			if from != "" {
				packedOld = "pack-1 send-1"
			}
			db := memstore.New(nil)
			tune := loom.Tuning{Lease: 6 * time.Second, Unload: time.Second}
			a, way := tapped(t, db, loom.Flows(old), tune)
			begin(t, old, a, 0, loom.ID("old"))
			begin(t, next, a, 0, loom.ID("early")) // nobody has this version yet
			begin(t, old, a, 0, loom.ID("cancelled"))
			pass(t, 10*time.Second)
			early, err := a.Summary(t.Context(), "early")
			if err != nil || !early.Unknown || early.Version != "2" || early.Events != 1 || early.Owner != "" {
				t.Fatalf("%+v, %v", early, err)
			}
			if s, err := a.Summary(t.Context(), "old"); err != nil || s.Unknown || s.Version != from {
				t.Fatalf("%+v, %v", s, err)
			}

			b, wayB := tapped(t, db, loom.Flows(next), tune)
			pass(t, 10*time.Second)
			if calls.count("pack-2") == 0 {
				t.Fatal("the new node does not drive what was waiting for it")
			}
			begin(t, old, b, 0, loom.ID("late")) // for the old node
			pass(t, 10*time.Second)
			if s, err := b.Summary(t.Context(), "late"); err != nil || s.Events < 2 || s.Unknown {
				t.Fatalf("%+v, %v", s, err)
			}

			way.kill() // and its lease runs out; timers, a message and a cancel come due
			pass(t, 5*time.Minute)
			signal(t, b, "old", "go", true)
			signal(t, b, "early", "go", true)
			if err := b.Cancel(t.Context(), "cancelled", ""); err != nil {
				t.Fatal(err)
			}
			yields(t, attach[string](t, b, "early"), packedNew)
			pass(t, 5*time.Minute)
			for _, id := range []string{"old", "late", "cancelled"} {
				for _, c := range wayB.commits(id) {
					if c.Claim != nil {
						t.Errorf("the new node claims %s", id)
					}
				}
			}
			left := map[string]bool{}
			for s, err := range b.List(t.Context(), loom.Filter{Status: fold.Running}) {
				if err != nil || !s.Unknown || s.Version != from {
					t.Fatalf("%+v, %v", s, err)
				}
				left[s.ID] = true
			}
			if len(left) != 3 {
				t.Fatalf("left over are %v", left)
			}

			both := open(t, db, loom.Flows(next, old), tune)
			begin(t, next, both, 0, loom.ID("new"))
			for _, id := range []string{"late", "new"} {
				signal(t, b, id, "go", true)
			}
			yields(t, attach[string](t, both, "old"), packedOld)
			yields(t, attach[string](t, both, "late"), packedOld)
			yields(t, attach[string](t, both, "new"), packedNew)
			if err := fails(t, attach[string](t, both, "cancelled")); err.Status != fold.Cancelled {
				t.Fatal(err)
			}
			for _, c := range []string{"pack-2", "send-2"} {
				if n := calls.count(c); n != 2 {
					t.Errorf("%s was called %d times", c, n)
				}
			}
			way.release()
		})
	}
}

// A child is started in the version of the flow that the parent's body names, and driven by
// a node that has it.
func TestAChildHasItsFlowsVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		item := func(version string) *loom.Flow[int, string] {
			return loom.NewFlow("item", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, version) }, loom.FlowVersion(version))
		}
		one, two := item("one"), item("two")
		parent := loom.NewFlow("parent", func(ctx loom.Context, _ int) (string, error) {
			a, err := one.Child(ctx, 0, loom.ID("a"))
			if err != nil {
				return "", err
			}
			b, err := two.Child(ctx, 0, loom.ID("b"))
			return a + " " + b, err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(parent, two))
		run := begin(t, parent, rt, 0, loom.ID("p"))
		pass(t, time.Minute)
		if h := headOf(t, db, "a"); h.Index.Version != "one" || h.Tip.Head != 0 {
			t.Fatalf("%+v", h)
		}
		open(t, db, loom.Flows(one))
		yields(t, run, "one two")
		if h := headOf(t, db, "b"); h.Index.Version != "two" || h.Index.Parent != "p" {
			t.Fatalf("%+v", h)
		}
	})
}

// A saved log is replayed by the version that it was begun with, and by no other.
func TestReplayGoesByVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		one, two := freight(&calls, "1"), freight(&calls, "2")
		rt := open(t, memstore.New(nil), loom.Flows(two))
		run := begin(t, two, rt, 0, loom.ID("x"))
		signal(t, rt, "x", "go", true)
		yields(t, run, "pack-2 send-2")
		report, err := loom.Replay(context.Background(), rt.Log(t.Context(), "x", 0), one, two)
		if err != nil || report.Version != "2" {
			t.Fatal(report, err)
		}
		_, err = loom.Replay(context.Background(), rt.Log(t.Context(), "x", 0), one)
		var unknown *loom.UnknownFlowError
		if !errors.As(err, &unknown) || unknown.Flow != "freight" || unknown.Version != "2" {
			t.Fatal(err)
		}
	})
}

// A version has the grammar of names, and one version of a flow is registered once.
func TestFlowVersionsAreNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		body := func(loom.Context, int) (int, error) { return 0, nil }
		for _, bad := range []string{"", "a@b", "a b", "ä"} {
			func() {
				defer func() {
					var e *loom.NameError
					if err, _ := recover().(error); !errors.As(err, &e) || e.Name != bad {
						t.Errorf("%q: %v", bad, err)
					}
				}()
				loom.NewFlow("f", body, loom.FlowVersion(bad))
			}()
		}
		twice := []loom.AnyFlow{loom.NewFlow("f", body, loom.FlowVersion("1")), loom.NewFlow("f", body, loom.FlowVersion("1"))}
		if _, err := loom.Open(t.Context(), memstore.New(nil), loom.Flows(twice...)); err == nil {
			t.Error("one version was taken twice")
		}
	})
}
