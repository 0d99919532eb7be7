package loom_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// bubble runs a test in fake time, which passes only while everything waits. A
// goroutine that is left over when the test ends fails it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// calm makes a node look around rarely, so that days of fake time cost little.
var calm = loom.Tuning{Lease: 10 * 24 * time.Hour, Scan: 24 * time.Hour, Unload: time.Second}

// soon is a context that ends long after anything here should have come.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// open opens a runtime that is closed with the test.
func open(t *testing.T, src store.Source, opts ...loom.Option) *loom.Runtime {
	t.Helper()
	rt, err := loom.Open(context.Background(), src, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil && !errors.Is(err, loom.ErrClosed) {
			t.Error(err)
		}
	})
	return rt
}

// shut closes a runtime that must close cleanly.
func shut(t *testing.T, rt *loom.Runtime) {
	t.Helper()
	if err := rt.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// begin starts an execution that must start.
func begin[In, Out any](t *testing.T, f *loom.Flow[In, Out], rt *loom.Runtime, in In, opts ...loom.StartOption) *loom.Run[Out] {
	t.Helper()
	run, err := f.Start(t.Context(), rt, in, opts...)
	if err != nil {
		t.Fatalf("start of %s: %v", f.Name(), err)
	}
	return run
}

// attach returns a handle to an execution.
func attach[Out any](t *testing.T, rt *loom.Runtime, id string) *loom.Run[Out] {
	t.Helper()
	run, err := loom.Attach[Out](rt, id)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// yields waits for the result and compares it.
func yields[Out comparable](t *testing.T, run *loom.Run[Out], want Out) {
	t.Helper()
	got, err := run.Result(soon(t))
	if err != nil || got != want {
		t.Fatalf("result of %s: %v, %v; want %v", run.ID(), got, err, want)
	}
}

// fails waits for the end of an execution that must not complete.
func fails[Out any](t *testing.T, run *loom.Run[Out]) *loom.ExecutionError {
	t.Helper()
	got, err := run.Result(soon(t))
	var ended *loom.ExecutionError
	if !errors.As(err, &ended) {
		t.Fatalf("result of %s: %v, %v; want an ExecutionError", run.ID(), got, err)
	}
	return ended
}

// until waits for a fact that no signal tells of, by looking each time that the
// bubble's clock has moved a little.
func until(t *testing.T, what string, fact func() bool) {
	t.Helper()
	wait := time.Millisecond
	for range 10_000 {
		synctest.Wait()
		if fact() {
			return
		}
		pass(t, wait)
		wait = min(2*wait, time.Second)
	}
	t.Fatalf("never: %s", what)
}

// pass lets time pass in a bubble.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	<-time.After(d)
	synctest.Wait()
}

// skewed is a store's clock that is off by d.
func skewed(d time.Duration) func() event.Time {
	return func() event.Time { return event.At(time.Now().Add(d)) }
}
