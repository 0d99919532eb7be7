package loomtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

// twice is a flow with a step of one name twice, in two branches and in a row.
var twice = loom.NewFlow("twice", func(ctx loom.Context, _ int) (string, error) {
	act := func(ctx loom.Context) (string, error) {
		return loom.Do(ctx, "act", func(context.Context) (string, error) { return "real", nil }, loom.Retry{Attempts: 2, Initial: time.Second})
	}
	left := loom.Go(ctx, "left", act)
	right := loom.Go(ctx, "right", act)
	both, err := loom.All(ctx, left, right)
	slices.Sort(both) // which of two branches calls first is for the seed to say
	return fmt.Sprint(both), err
})

func open(t *testing.T, e *loomtest.Env) *loom.Run[string] {
	t.Helper()
	run, err := twice.Start(e.Context(), e.Open(loom.Flows(twice)), 0, loom.ID("x"))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestAScriptAnswersInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		script func(e *loomtest.Env)
		want   string
		calls  int
	}{
		"by name":          {func(e *loomtest.Env) { e.Step("act").Returns("a", "b") }, "[a b]", 2},
		"by path":          {func(e *loomtest.Env) { e.Step("left#1/act#1").Returns("a") }, "[a real]", 1},
		"path before name": {func(e *loomtest.Env) { e.Step("act").Returns("n"); e.Step("right#1/act#1").Returns("p") }, "[n p]", 2},
		"an error":         {func(e *loomtest.Env) { e.Step("left#1/act#1").Fails(errBusy).Returns("a") }, "[a real]", 2},
		"the second fails": {func(e *loomtest.Env) { e.Step("right#1/act#1").Fails(errBusy).Real() }, "[real real]", 2},
		"a function": {func(e *loomtest.Env) {
			e.Step("left#1/act#1").Calls(func(ctx context.Context) (any, error) { return loom.IdempotencyKey(ctx)[:0] + "f", nil })
		}, "[f real]", 1},
		"always":            {func(e *loomtest.Env) { e.Step("act").Fails(errBusy).Always("z") }, "[z z]", 3},
		"always, and never": {func(e *loomtest.Env) { e.Step("other").Always(1) }, "[real real]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			loomtest.Run(t, func(e *loomtest.Env) {
				c.script(e)
				yields(t, e, open(t, e), c.want)
				n := e.Step("act").Count() + e.Step("left#1/act#1").Count() + e.Step("right#1/act#1").Count()
				if n != c.calls {
					t.Errorf("%d scripted calls, want %d", n, c.calls)
				}
			})
		})
	}
}

func TestAnAnswerTakesVirtualTime(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		e.Step("act").Takes(3 * time.Hour).Returns("a").Takes(time.Hour).Returns("b")
		began := e.Now()
		yields(t, e, open(t, e), "[a b]")
		if d := e.Now().Sub(began); d < 3*time.Hour || d > 3*time.Hour+time.Minute {
			t.Errorf("it took %v", d)
		}
	})
}

func TestAHeldAnswerWaitsToBeReleased(t *testing.T) {
	loomtest.Seeds(t, 20, func(e *loomtest.Env) {
		act := e.Step("act").Held().Returns("a").Held().Returns("b")
		run := open(t, e)
		act.Await(2)
		e.Sleep(24 * time.Hour)
		ctx, cancel := e.Within(time.Hour)
		defer cancel()
		if _, err := run.Result(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("it is held, and %v", err)
		}
		act.Release()
		e.Sleep(time.Hour)
		if n := len(e.Log("x")); n != 4 { // the start, two intents, one result
			t.Errorf("one is released, and the log has %d events", n)
		}
		act.Release()
		yields(t, e, run, "[a b]")
	})
}

// A held effect gives way to a cancel, as one that heeds its context does.
func TestAHeldAnswerGivesWay(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		act := e.Step("act").Held().Returns("a").Takes(time.Hour).Returns("b")
		run := open(t, e)
		act.Await(2)
		if err := run.Cancel(e.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		began := e.Now()
		if _, err := run.Result(e.Context()); !errors.Is(err, loom.ErrCancelled) {
			t.Errorf("it ended with %v", err)
		}
		if d := e.Now().Sub(began); d > time.Minute {
			t.Errorf("it gave way after %v", d)
		}
	})
}

// A call that a crash cut off is answered as the first time, and counted again.
func TestACallThatIsMadeAgainIsAnsweredAgain(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		act := e.Step("left#1/act#1").Held().Returns("a")
		a := e.Open(loom.Flows(twice))
		if _, err := twice.Start(e.Context(), a, 0, loom.ID("x")); err != nil {
			t.Fatal(err)
		}
		act.Await(1)
		e.Crash(a)
		b := e.Open(loom.Flows(twice))
		act.Await(2)
		act.Release()
		run, err := loom.Attach[string](b, "x")
		if err != nil {
			t.Fatal(err)
		}
		yields(t, e, run, "[a real]")
	})
}
