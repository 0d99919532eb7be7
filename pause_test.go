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

// courier is a flow that does everything that a pause must hold up: steps, one after the
// other, one of them slow; a sleep; a message.
func courier(s *service, slow func()) *loom.Flow[int, string] {
	return loom.NewFlow("courier", func(ctx loom.Context, _ int) (string, error) {
		if _, err := loom.Do(ctx, "fetch", func(context.Context) (int, error) { s.call("fetch"); slow(); return 1, nil }); err != nil {
			return "", err
		}
		if _, err := step(ctx, s, "load", loom.AtMostOnce()); err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "ride", time.Minute); err != nil {
			return "", err
		}
		word, err := loom.Await[string](ctx, "door")
		if err != nil {
			return "", err
		}
		done, err := step(ctx, s, "hand-over")
		return word + " " + done, err
	})
}

func pauses(t *testing.T, rt *loom.Runtime, id, reason string) {
	t.Helper()
	if err := rt.Pause(soon(t), id, reason); err != nil {
		t.Fatalf("pause of %s: %v", id, err)
	}
}

func resumes(t *testing.T, rt *loom.Runtime, id string) {
	t.Helper()
	if err := rt.Resume(soon(t), id, ""); err != nil {
		t.Fatalf("resume of %s: %v", id, err)
	}
}

// halted checks that an execution is paused in row, fold and list, and that a day changes
// nothing.
func halted(t *testing.T, rt *loom.Runtime, db *memstore.DB, s *service, id string) {
	t.Helper()
	calls, log := s.count(""), logOf(t, db, id)
	pass(t, 24*time.Hour)
	if h := headOf(t, db, id); h.State != store.StatePaused || h.Owner != "" {
		t.Fatalf("the row of %s: %+v", id, h)
	}
	if sum, err := rt.Summary(t.Context(), id); err != nil || sum.Status != fold.Paused || sum.Unknown || !sum.WakeAt.IsZero() {
		t.Fatalf("%+v, %v", sum, err)
	}
	if st := stateOf(t, db, id); st.Status != fold.Paused || st.Paused == nil {
		t.Fatalf("the fold of %s: %+v", id, st)
	}
	if s.count("") != calls || len(logOf(t, db, id)) != len(log) {
		t.Fatalf("%s went on: %v, %s", id, s.all(), kinds(logOf(t, db, id)))
	}
}

// An execution may be paused wherever it stands: in a step, which settles and is recorded
// while the next one is not called; in a sleep, whose end passes; while it waits, and the
// message comes; before it has begun. Nothing of it happens while it is paused, by whatever
// node; then everything does, once.
func TestAPausedExecutionDoesNothingUntilItIsResumed(t *testing.T) {
	for _, unload := range []time.Duration{time.Second, 10 * time.Minute} { // parked, and in memory
		bubble(t, func(t *testing.T) {
			var s service
			gate := make(chan struct{})
			flow := courier(&s, func() { <-gate })
			db := memstore.New(nil)
			tune := loom.Tuning{Unload: unload}
			rt, other := open(t, db, loom.Flows(flow), tune), open(t, db, loom.Flows(flow), tune)
			run := begin(t, flow, rt, 0, loom.ID("c"))
			pass(t, time.Second)

			asked := make(chan error, 2)
			for range 2 { // the second asks for nothing new
				go func() { asked <- other.Pause(context.Background(), "c", "no petrol") }()
			}
			pass(t, time.Minute)
			select {
			case err := <-asked:
				t.Fatalf("paused in the middle of a step: %v", err)
			default:
			}
			if err := rt.Resume(t.Context(), "c", ""); !errors.Is(err, loom.ErrNotPaused) {
				t.Fatal(err)
			}
			close(gate)
			for range 2 {
				if err := <-asked; err != nil {
					t.Fatal(err)
				}
			}
			halted(t, rt, db, &s, "c")
			if got := kinds(logOf(t, db, "c")); got != "EXECUTION_STARTED EFFECT_SCHEDULED EFFECT_COMPLETED EFFECT_SCHEDULED EXECUTION_PAUSED" {
				t.Fatal(got)
			}
			if p := stateOf(t, db, "c").Paused; p.Reason != "no petrol" {
				t.Fatalf("%+v", p)
			}
			pauses(t, rt, "c", "again") // it is
			resumes(t, rt, "c")
			pass(t, 2*time.Second) // load is called now, and its promise is not spent
			if s.count("load") != 1 || s.count("fetch") != 1 {
				t.Fatal(s.all())
			}

			pauses(t, other, "c", "in the sleep")
			halted(t, rt, db, &s, "c")
			resumes(t, other, "c")
			pass(t, 5*time.Second)
			if got := kinds(logOf(t, db, "c")); !strings.HasSuffix(got, "EXECUTION_PAUSED EXECUTION_RESUMED TIMER_FIRED MESSAGE_AWAITED") {
				t.Fatal(got)
			}

			pauses(t, rt, "c", "in the wait")
			signal(t, other, "c", "door", "open")
			halted(t, rt, db, &s, "c")
			resumes(t, rt, "c")
			yields(t, run, "open hand-over")
			for _, name := range []string{"fetch", "load", "hand-over"} {
				if s.count(name) != 1 {
					t.Errorf("%s was called %d times", name, s.count(name))
				}
			}
			if err := rt.Pause(t.Context(), "c", ""); !errors.Is(err, loom.ErrEnded) {
				t.Error(err)
			}
			if err := rt.Resume(t.Context(), "c", ""); !errors.Is(err, loom.ErrEnded) {
				t.Error(err)
			}
			if err := rt.Pause(t.Context(), "nobody", ""); !errors.Is(err, loom.ErrNotFound) {
				t.Error(err)
			}
			if _, err := loom.Replay(t.Context(), rt.Log(t.Context(), "c", 0), flow); err != nil {
				t.Errorf("the log does not replay: %v", err)
			}
		})
	}
}

// Pause acts for an owner that is dead: what it had called may have been done, and so a
// step that may be called at most once is not called again after the resume.
func TestAPauseTakesOverFromTheDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		block := make(chan struct{})
		t.Cleanup(func() { close(block) })
		flow := loom.NewFlow("careful", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "pay", func(context.Context) (int, error) { s.call("pay"); <-block; return 1, nil }, loom.AtMostOnce())
			return seen(err, loom.ErrOutcomeUnknown), loom.Sleep(ctx, "nap", time.Minute)
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow), loom.Tuning{CloseGrace: time.Second})
		begin(t, flow, rt, 0, loom.ID("c"))
		pass(t, time.Second)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		asked := make(chan error, 2)
		ask := func() { asked <- client.Pause(context.Background(), "c", "") }
		go ask()
		pass(t, time.Second)
		way.kill()
		go ask() // nobody reads this one's message: it is over with the pause as well
		for range 2 {
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
		}
		node := open(t, db, loom.Flows(flow))
		halted(t, node, db, &s, "c")
		resumes(t, client, "c")
		v, err := attach[string](t, client, "c").Result(soon(t))
		if err != nil || !strings.HasSuffix(v, "true") || s.count("pay") != 1 {
			t.Fatal(v, err, s.all())
		}
		way.release()
	})
}

// A node that takes an execution over, and finds that a pause was asked for, does not ask
// what came of the step that its owner before may have called, and leaves that to who goes
// on after the resume: the step is asked about then, and not called again.
func TestAPauseKeepsWhatNobodyKnows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		block := make(chan struct{})
		t.Cleanup(func() { close(block) })
		flow := loom.NewFlow("careful", func(ctx loom.Context, _ int) (string, error) {
			return loom.Do(ctx, "pay", func(context.Context) (string, error) { s.call("pay"); <-block; return "called", nil },
				loom.Verify(func(context.Context) (string, loom.Verdict, error) { s.call("ask"); return "asked", loom.Done, nil }))
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow), loom.Tuning{CloseGrace: time.Second})
		begin(t, flow, rt, 0, loom.ID("c"))
		pass(t, time.Second)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := client.Pause(ctx, "c", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		way.kill()
		first := open(t, db, loom.Flows(flow))
		pass(t, time.Minute)
		halted(t, first, db, &s, "c")
		resumes(t, client, "c")
		yields(t, attach[string](t, client, "c"), "asked")
		if got := strings.Join(s.all(), " "); got != "pay ask" {
			t.Fatal(got)
		}
		way.release()
	})
}

// While a pause waits for a step of one branch the others stand still as well: a timer
// comes due, a message and a child's end come, a retry is due, and nothing is recorded.
func TestAPauseHoldsTheOtherBranchesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		gate := make(chan struct{})
		child := loom.NewFlow("child", func(ctx loom.Context, _ int) (string, error) { return "child", loom.Sleep(ctx, "grow", 15*time.Second) })
		flow := loom.NewFlow("wide", func(ctx loom.Context, _ int) (string, error) {
			branches := []*loom.Future[string]{
				loom.Go(ctx, "slow", func(ctx loom.Context) (string, error) {
					return loom.Do(ctx, "slow", func(context.Context) (string, error) { <-gate; return "slow", nil })
				}),
				loom.Go(ctx, "sleep", func(ctx loom.Context) (string, error) { return "sleep", loom.Sleep(ctx, "nap", 15*time.Second) }),
				loom.Go(ctx, "message", func(ctx loom.Context) (string, error) { return loom.Await[string](ctx, "word") }),
				loom.Go(ctx, "child", func(ctx loom.Context) (string, error) { return child.Child(ctx, 0) }),
				loom.Go(ctx, "retry", func(ctx loom.Context) (string, error) {
					return loom.Do(ctx, "retry", func(context.Context) (string, error) {
						if s.call("retry") == 1 {
							return "", errors.New("not yet")
						}
						return "retry", nil
					}, loom.Retry{Attempts: 2, Initial: 20 * time.Second})
				}),
			}
			all, err := loom.All(ctx, branches...)
			return strings.Join(all, " "), err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow, child))
		run := begin(t, flow, rt, 0, loom.ID("w"))
		pass(t, 5*time.Second)
		asked := make(chan error, 1)
		go func() { asked <- rt.Pause(context.Background(), "w", "") }()
		pass(t, time.Second)
		before := len(logOf(t, db, "w"))
		signal(t, rt, "w", "word", "message")
		pass(t, time.Minute)
		if log := logOf(t, db, "w"); len(log) != before {
			t.Fatalf("it goes on while the pause is asked for: %s", kinds(log[before:]))
		}
		close(gate)
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		if got := kinds(logOf(t, db, "w")[before:]); got != "EFFECT_COMPLETED EXECUTION_PAUSED" {
			t.Fatal(got)
		}
		halted(t, rt, db, &s, "w")
		resumes(t, rt, "w")
		yields(t, run, "slow sleep message child retry")
		if n := s.count("retry"); n != 2 {
			t.Fatalf("%d attempts", n)
		}
	})
}

// A request takes hold without the one who asked, also if the body goes to sleep with the
// result of the step that it waited for.
func TestAPauseTakesHoldWithoutWhoAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		gate := make(chan struct{})
		sleepy := loom.NewFlow("sleepy", func(ctx loom.Context, _ int) (string, error) {
			v, err := loom.Do(ctx, "slow", func(context.Context) (string, error) { <-gate; return "slept", nil })
			return v, errors.Join(err, loom.Sleep(ctx, "long", 30*time.Hour))
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(sleepy))
		run := begin(t, sleepy, rt, 0, loom.ID("z"))
		pass(t, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := rt.Pause(ctx, "z", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		close(gate)
		pass(t, time.Second)
		halted(t, rt, db, &s, "z")
		halted(t, rt, db, &s, "z")
		resumes(t, rt, "z")
		yields(t, run, "slept")
	})
}

// While an execution is paused a cancel waits with the other mail, its deadline too, and
// Terminate ends it. A cancel that comes while the pause waits for a step ends the step.
func TestCancelAndTerminateOfAPausedExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		flow := loom.NewFlow("tidy", func(ctx loom.Context, _ int) (string, error) {
			_ = loom.Cleanup(ctx, "undo", func(ctx loom.Context) error { _, err := step(ctx, &s, "undone"); return err })
			_, err := loom.Do(ctx, "wait", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			return "", err
		})
		waits := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "go") })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow, waits))
		run := begin(t, flow, rt, 0, loom.ID("busy"))
		pass(t, time.Second)
		asked := make(chan error, 1)
		go func() { asked <- rt.Pause(context.Background(), "busy", "") }()
		pass(t, time.Second)
		if err := rt.Cancel(t.Context(), "busy", ""); err != nil {
			t.Fatal(err)
		}
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		halted(t, rt, db, &s, "busy") // the cleanup is a step
		resumes(t, rt, "busy")
		cancelled(t, run)
		if s.count("undone") != 1 {
			t.Fatal(s.all())
		}

		for _, id := range []string{"cancelled", "terminated", "overdue"} {
			begin(t, waits, rt, 0, loom.ID(id), loom.Deadline(time.Now().Add(time.Hour)))
			pauses(t, rt, id, "")
		}
		if err := rt.Cancel(t.Context(), "cancelled", ""); err != nil {
			t.Fatal(err)
		}
		if err := rt.Terminate(t.Context(), "terminated", ""); err != nil {
			t.Fatal(err)
		}
		if err := fails(t, attach[string](t, rt, "terminated")); err.Status != fold.Terminated {
			t.Fatal(err)
		}
		halted(t, rt, db, &s, "cancelled")
		halted(t, rt, db, &s, "overdue")
		resumes(t, rt, "cancelled")
		cancelled(t, attach[string](t, rt, "cancelled"))
		resumes(t, rt, "overdue")
		if err := fails(t, attach[string](t, rt, "overdue")); !errors.Is(err, loom.ErrDeadline) {
			t.Fatal(err)
		}
	})
}

// A child may be paused, and its parent: the end of the child waits for the parent. A start
// that has not begun is paused as well, and not begun early by that.
func TestPausesOfChildrenAndOfDelayedStarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		child := loom.NewFlow("child", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "go") })
		parent := loom.NewFlow("parent", func(ctx loom.Context, _ int) (string, error) { return child.Child(ctx, 0, loom.ID("kid")) })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(parent, child))
		run := begin(t, parent, rt, 0, loom.ID("p"))
		pass(t, time.Second)
		pauses(t, rt, "kid", "")
		pauses(t, rt, "p", "")
		signal(t, rt, "kid", "go", "home")
		halted(t, rt, db, &s, "kid")
		resumes(t, rt, "kid")
		yields(t, attach[string](t, rt, "kid"), "home")
		halted(t, rt, db, &s, "p")
		resumes(t, rt, "p")
		yields(t, run, "home")

		late := begin(t, child, rt, 0, loom.ID("late"), loom.Delay(48*time.Hour))
		pauses(t, rt, "late", "")
		halted(t, rt, db, &s, "late")
		resumes(t, rt, "late")
		pass(t, time.Hour)
		if n := len(logOf(t, db, "late")); n != 3 {
			t.Fatalf("it began early: %s", kinds(logOf(t, db, "late")))
		}
		signal(t, rt, "late", "go", "at last")
		pass(t, 22*time.Hour)
		if n := len(logOf(t, db, "late")); n != 3 {
			t.Fatalf("it began early: %s", kinds(logOf(t, db, "late")))
		}
		yields(t, late, "at last")
	})
}

// A pause that was asked for survives the node that was asked: the next one takes hold of it.
func TestAPauseSurvivesTheNodeThatWasAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		flow := courier(&s, func() {})
		db := memstore.New(nil)
		first := open(t, db, loom.Flows(loom.NewFlow("courier", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "fetch", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			return "", err
		})), loom.Tuning{CloseGrace: time.Second})
		begin(t, flow, first, 0, loom.ID("c"))
		pass(t, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := first.Pause(ctx, "c", "asked"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		shut(t, first)
		second := open(t, db, loom.Flows(flow))
		pass(t, time.Minute)
		halted(t, second, db, &s, "c")
		if n := s.count(""); n != 0 {
			t.Fatal(s.all())
		}
		resumes(t, second, "c")
		signal(t, second, "c", "door", "open")
		yields(t, attach[string](t, second, "c"), "open hand-over")
		for _, e := range logOf(t, db, "c") {
			if e.Kind == event.KindExecutionPaused && !strings.Contains(string(e.Payload), "asked") {
				t.Fatalf("%s", e.Payload)
			}
		}
	})
}

// A paused poll writes the golden log of a pause.
func TestTheGoldenPauseWritesItsGoldenLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(goldenPoll))
		run := begin(t, goldenPoll, rt, 2, loom.ID("golden-pause"))
		pass(t, 5*time.Second)
		pauses(t, rt, "golden-pause", "the feed is down")
		pass(t, time.Hour)
		if err := rt.Resume(t.Context(), "golden-pause", "it is up"); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(soon(t)); err != nil {
			t.Fatal(err)
		}
		log := logOf(t, db, "golden-pause")
		var file strings.Builder
		if err := event.WriteLog(&file, logIn(log)); err != nil {
			t.Fatal(err)
		}
		if got, want := kinds(log), kinds(readGolden(t, "paused-1.0.0.log", file.String())); got != want {
			t.Fatalf("written:\n%s\nrecorded:\n%s", got, want)
		}
	})
}
