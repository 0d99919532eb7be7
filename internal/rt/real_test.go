package rt

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

func TestCoroutineHandsControlBackAndForth(t *testing.T) {
	var trace []int
	co := NewReal().Coroutine(func(yield func()) {
		for i := range 3 {
			trace = append(trace, i)
			yield()
		}
	})
	for i := range 3 {
		if !co.Resume() {
			t.Fatalf("ended at resume %d", i)
		}
		trace = append(trace, 10+i)
	}
	if co.Resume() {
		t.Fatal("alive after its end")
	}
	want := []int{0, 10, 1, 11, 2, 12}
	for i := range want {
		if trace[i] != want[i] {
			t.Fatalf("trace %v, want %v", trace, want)
		}
	}
}

func TestCoroutineEndsByGoexit(t *testing.T) {
	deferred := false
	co := NewReal().Coroutine(func(yield func()) {
		defer func() { deferred = recover() == nil }()
		yield()
		runtime.Goexit()
	})
	if !co.Resume() {
		t.Fatal("ended before its yield")
	}
	if co.Resume() {
		t.Fatal("alive after Goexit")
	}
	if !deferred {
		t.Fatal("deferred function did not run")
	}
}

func TestSignalRemembersOneWake(t *testing.T) {
	s := NewReal().NewSignal()
	s.Wake()
	s.Wake()
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if err := s.Wait(ctx); !errors.Is(err, cause) {
		t.Fatalf("second wait: %v, want the cause of ctx", err)
	}
}

func TestLatchStaysOpen(t *testing.T) {
	l := NewReal().NewLatch()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("closed latch: %v", err)
	}
	l.Open()
	l.Open()
	if err := l.Wait(ctx); err != nil || !l.Opened() {
		t.Fatalf("open latch: %v", err)
	}
}

func TestAfterCallsOnceUnlessStopped(t *testing.T) {
	r := NewReal()
	called := r.NewLatch()
	r.After(time.Millisecond, called.Open)
	stop := r.After(time.Hour, func() { t.Error("called after stop") })
	stop()
	stop()
	if err := called.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.Mono() < time.Millisecond {
		t.Fatalf("called after %v", r.Mono())
	}
}

func BenchmarkCoroutine(b *testing.B) {
	co := NewReal().Coroutine(func(yield func()) {
		for {
			yield()
		}
	})
	for b.Loop() {
		co.Resume()
	}
}

// claim H-23: what Wall returns holds no monotonic reading, which stands still in a
// suspended machine and would stand in for the wall clock in every comparison.
func TestWallIsTheWallClockAlone(t *testing.T) {
	if w := NewReal().Wall(); w != w.Round(0) {
		t.Errorf("%v holds a monotonic reading", w)
	}
}
