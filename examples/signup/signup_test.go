package main

import (
	"errors"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

var errDown = errors.New("the service is down")

// start begins a signup on a node of its own.
func start(t *testing.T, e *loomtest.Env) *loom.Run[bool] {
	t.Helper()
	run, err := Signup.Start(e.Context(), e.Open(loom.Flows(Signup)), "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A step is scripted by its name or, where a name is used in many places, by its path.
func TestTwoGoodScoresAreEnough(t *testing.T) {
	loomtest.Seeds(t, 20, func(e *loomtest.Env) {
		e.Step("fraud#1/score#1").Fails(errDown, errDown).Returns(90)
		e.Step("credit#1/score#1").Takes(time.Hour).Returns(85)
		review := e.Step("review")
		if ok, err := start(t, e).Result(e.Context()); err != nil || !ok {
			t.Error(ok, err)
		}
		if review.Count() > 0 {
			t.Error("a person was asked")
		}
	})
}

func TestTheThirdFailureIsTheLast(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		e.Step("fraud#1/score#1").Fails(errDown, errDown, errDown)
		e.Step("credit#1/score#1").Returns(85)
		_, err := start(t, e).Result(e.Context())
		if ended := (*loom.ExecutionError)(nil); !errors.As(err, &ended) || ended.Message != errDown.Error() {
			t.Error(err)
		}
	})
}

// A held answer comes when the test says so.
func TestAPersonDecides(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		e.Step("score").Returns(10, 20)
		review := e.Step("review").Held().Returns(true)
		run := start(t, e)
		review.Await(1)
		e.Sleep(24 * time.Hour)
		ctx, cancel := e.Within(time.Hour)
		defer cancel()
		if _, err := run.Result(ctx); err == nil {
			t.Error("it did not wait")
		}
		review.Release()
		if ok, err := run.Result(e.Context()); err != nil || !ok {
			t.Error(ok, err)
		}
	})
}

// An answer that takes longer than the step allows is none.
func TestAPersonWhoSleepsIsNotWaitedFor(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		e.Step("score").Returns(10, 20)
		e.Step("review").Takes(72 * time.Hour).Returns(true)
		if _, err := start(t, e).Result(e.Context()); !errors.Is(err, loom.ErrTimeout) {
			t.Error(err)
		}
	})
}
