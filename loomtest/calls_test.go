package loomtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
)

// TestCallsThatMustNotBeAreSeen: the check of CrashEverywhere sees an effect that is called
// although its result is recorded, and one that is called too often. No runtime of today
// does either, so the calls are made up.
func TestCallsThatMustNotBeAreSeen(t *testing.T) {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (int, error) {
		if _, err := loom.Do(ctx, "act", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return 0, err
		}
		return 0, loom.Sleep(ctx, "nap", time.Hour)
	})
	Run(t, func(e *Env) {
		run, err := flow.Start(e.Context(), e.Open(loom.Flows(flow)), 0, loom.ID("x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(e.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.calledTooOften(0); err != nil {
			t.Error(err)
		}
		k := callKey{"x", "act#1", 1}
		e.calls[k] = 3
		if err := e.calledTooOften(1); err == nil || !strings.Contains(err.Error(), "act#1 of x was called 3 times in attempt 1") {
			t.Errorf("three calls and a crash: %v", err)
		}
		if err := e.calledTooOften(2); err != nil {
			t.Error(err)
		}
		e.recorded(k)
		if err := e.calledTooOften(2); err == nil || !strings.Contains(err.Error(), "its result stands at sequence 2") {
			t.Errorf("a call of what is recorded: %v", err)
		}
	})
}
