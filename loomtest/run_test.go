package loomtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

var errBusy = errors.New("busy")

// order is the flow that most tests here run.
var order = loom.NewFlow("order", func(ctx loom.Context, item string) (string, error) {
	pay, err := loom.Do(ctx, "charge", func(context.Context) (string, error) { return "real-" + item, nil },
		loom.Retry{Attempts: 3, Initial: time.Minute})
	if err != nil {
		return "", err
	}
	if err := loom.Sleep(ctx, "cool-off", 30*24*time.Hour); err != nil {
		return "", err
	}
	word, err := loom.Await[string](ctx, "word", loom.Within(time.Hour))
	if err != nil && !errors.Is(err, loom.ErrTimeout) {
		return "", err
	}
	return pay + word, nil
})

func start(t *testing.T, e *loomtest.Env, rt *loom.Runtime, id string) *loom.Run[string] {
	t.Helper()
	run, err := order.Start(e.Context(), rt, "kettle", loom.ID(id))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func yields(t *testing.T, e *loomtest.Env, run *loom.Run[string], want string) {
	t.Helper()
	if got, err := run.Result(e.Context()); err != nil || got != want {
		t.Errorf("result %q, %v; want %q", got, err, want)
	}
}

// TestAMonthTakesNoTime: a flow that sleeps for a month ends, in virtual time, at once.
func TestAMonthTakesNoTime(t *testing.T) {
	began := time.Now()
	loomtest.Run(t, func(e *loomtest.Env) {
		at := e.Now()
		rt := e.Open(loom.Flows(order))
		yields(t, e, start(t, e, rt, "a"), "real-kettle")
		if d := e.Now().Sub(at); d < 30*24*time.Hour+time.Hour || d > 31*24*time.Hour {
			t.Errorf("it took %v of virtual time", d)
		}
	})
	t.Logf("real time: %v", time.Since(began))
}

// TestAnotherNodeGoesOnAfterACrash also shows that what is recorded is not called again.
func TestAnotherNodeGoesOnAfterACrash(t *testing.T) {
	loomtest.Seeds(t, 30, func(e *loomtest.Env) {
		charge := e.Step("charge").Fails(errBusy).Returns("p-1")
		a := e.Open(loom.Flows(order))
		start(t, e, a, "a")
		e.Sleep(time.Hour)
		e.Crash(a)
		b := e.Open(loom.Flows(order))
		e.Sleep(29 * 24 * time.Hour)
		run, err := loom.Attach[string](b, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Signal(e.Context(), "word", "!"); err != nil {
			t.Fatal(err)
		}
		yields(t, e, run, "p-1!")
		if n := charge.Count(); n != 2 {
			t.Errorf("charged %d times", n)
		}
	})
}
