package loom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// terminated waits for the end of an execution that was ended from outside.
func terminated[Out any](t *testing.T, run *loom.Run[Out]) *loom.ExecutionError {
	t.Helper()
	err := fails(t, run)
	if err.Status != fold.Terminated || !errors.Is(err, loom.ErrTerminated) || !strings.Contains(err.Message, "it hangs") {
		t.Fatalf("%+v", err)
	}
	return err
}

// An execution is ended wherever it is: in an effect that heeds nothing, asleep in memory,
// parked, never begun for want of a node, stuck with a dead owner; from its own node,
// another one, and a client.
func TestTerminateEndsAnExecutionWhereverItIs(t *testing.T) {
	never := make(chan struct{})
	hang := func(context.Context) (int, error) { <-never; return 0, nil }
	for _, c := range []struct {
		name string
		body func(ctx loom.Context) error
		node func(t *testing.T, db *memstore.DB, flow *loom.Flow[int, int]) (rt *loom.Runtime, release func())
	}{
		{"in a deaf effect", func(ctx loom.Context) error { _, err := loom.Do(ctx, "x", hang); return err }, nil},
		{"asleep in memory", func(ctx loom.Context) error { return loom.Sleep(ctx, "x", 5*time.Second) }, nil},
		{"awaiting", func(ctx loom.Context) error { _, err := loom.Await[int](ctx, "x"); return err }, nil},
		{"parked", func(ctx loom.Context) error { return loom.Sleep(ctx, "x", 24*time.Hour) }, nil},
		{"in its cleanup", func(ctx loom.Context) error {
			return errors.Join(errors.New("fails"), loom.Cleanup(ctx, "x", func(ctx loom.Context) error { return loom.Sleep(ctx, "x", 24*time.Hour) }))
		}, nil},
		{"of a dead node", func(ctx loom.Context) error { return loom.Sleep(ctx, "x", 5*time.Second) },
			func(t *testing.T, db *memstore.DB, flow *loom.Flow[int, int]) (*loom.Runtime, func()) {
				rt, way := tapped(t, db, loom.Flows(flow))
				begin(t, flow, rt, 0, loom.ID("x"))
				pass(t, time.Second)
				way.kill()
				return nil, func() { way.release() }
			}},
		{"that nobody knows", nil, func(t *testing.T, db *memstore.DB, flow *loom.Flow[int, int]) (*loom.Runtime, func()) {
			begin(t, flow, open(t, db, loom.Tuning{ClientOnly: true}), 0, loom.ID("x"))
			return nil, func() {}
		}},
	} {
		for _, from := range []string{"own", "client"} {
			t.Run(c.name+", from its "+from, func(t *testing.T) {
				defer func() { never = make(chan struct{}) }()
				bubble(t, func(t *testing.T) {
					db := memstore.New(nil)
					never = make(chan struct{})
					flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) { return 0, c.body(ctx) })
					var rt *loom.Runtime
					release := func() {}
					if c.node != nil {
						rt, release = c.node(t, db, flow)
					} else {
						rt = open(t, db, loom.Flows(flow))
						begin(t, flow, rt, 0, loom.ID("x"))
						pass(t, time.Second)
					}
					if from == "client" || rt == nil {
						rt = open(t, db, loom.Tuning{ClientOnly: true})
					}
					before := time.Now()
					if err := rt.Terminate(t.Context(), "x", "it hangs"); err != nil {
						t.Fatal(err)
					}
					terminated(t, attach[int](t, rt, "x"))
					if took := time.Since(before); took > time.Second {
						t.Fatalf("after %v", took)
					}
					log := logOf(t, db, "x")
					if last := log[len(log)-1]; last.Kind != event.KindExecutionTerminated || strings.Count(kinds(log), "EXECUTION_TERMINATED") != 1 {
						t.Fatal(kinds(log))
					}
					if h := headOf(t, db, "x"); h.State != store.StateTerminated || h.Owner != "" || h.Mail != 1 {
						t.Fatalf("%+v", h)
					}
					if ms, _, _ := db.Pending(t.Context(), "x", 0, 9); len(ms) != 0 {
						t.Fatalf("%d messages are left", len(ms))
					}
					if err := rt.Terminate(t.Context(), "x", "again"); !errors.Is(err, loom.ErrEnded) {
						t.Fatal(err)
					}
					if s, err := rt.Summary(t.Context(), "x"); err != nil || s.Status != fold.Terminated {
						t.Fatalf("%+v, %v", s, err)
					}
					for s, err := range rt.List(t.Context(), loom.Filter{Status: fold.Failed}) {
						t.Fatalf("%+v, %v", s, err)
					}
					close(never)
					release()
				})
			})
		}
	}
}

// race 31: a body that commits again and again cannot outrun it; nothing of it comes
// after, and no effect begins under the lost token.
func TestRace31TerminateAgainstABusyRunner(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := loom.NewFlow("busy", func(ctx loom.Context, _ int) (int, error) {
			for {
				_, err := loom.Do(ctx, "tick", func(context.Context) (int, error) {
					s.call("tick")
					<-time.After(time.Millisecond)
					return 0, nil
				})
				if err != nil {
					return 0, err
				}
			}
		})
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("x"))
		pass(t, time.Second)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		if err := client.Terminate(t.Context(), "x", "it hangs"); err != nil {
			t.Fatal(err)
		}
		n := s.count("tick")
		terminated(t, run)
		pass(t, time.Minute)
		if more := s.count("tick"); more > n+1 {
			t.Fatalf("%d calls after it", more-n)
		}
	})
}

func TestTerminateOfNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rt := open(t, memstore.New(nil))
		var bad *loom.IDError
		var large *loom.TooLargeError
		if err := rt.Terminate(t.Context(), "x", ""); !errors.Is(err, loom.ErrNotFound) {
			t.Error(err)
		}
		if err := rt.Terminate(t.Context(), "a b", ""); !errors.As(err, &bad) {
			t.Error(err)
		}
		if err := rt.Terminate(t.Context(), "x", strings.Repeat("x", 1<<20)); !errors.As(err, &large) {
			t.Error(err)
		}
		shut(t, rt)
		if err := rt.Terminate(t.Context(), "x", ""); !errors.Is(err, loom.ErrClosed) {
			t.Error(err)
		}
	})
}

// claim B-50 c: the runner that was shut out writes nothing more, and its effect's result
// is nobody's.
func TestATerminatedRunnerWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		inside := shutGate(t)
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "x", func(context.Context) (int, error) { inside.pass(); return 1, nil })
		})
		rt, way := tapped(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("x"))
		until(t, "it is inside", func() bool { return inside.waiting() == 1 })
		way.kill() // it hears of nothing
		client := open(t, db, loom.Tuning{ClientOnly: true})
		if err := client.Terminate(t.Context(), "x", "it hangs"); err != nil {
			t.Fatal(err)
		}
		before := len(logOf(t, db, "x"))
		way.thaw()
		inside.open()
		pass(t, time.Minute)
		if log := logOf(t, db, "x"); len(log) != before {
			t.Fatal(kinds(log))
		}
		way.release()
	})
}
