package rt

import (
	"context"
	"crypto/rand"
	"runtime"
	"time"
)

// Real is the operating system's world: goroutines, channels, its clocks and its
// entropy. It implements [Runtime]; the zero Real is not ready, see [NewReal].
type Real struct {
	base time.Time
	pool pool
}

// NewReal returns a Real whose Mono starts at 0.
func NewReal() *Real { return &Real{base: time.Now()} }

// Go implements [Runtime].
func (r *Real) Go(_ string, fn func()) { r.pool.run(fn) }

// Close lets the goroutines go that are kept for reuse. Fibers that run go on, and
// more may be begun.
func (r *Real) Close() { r.pool.close() }

// Yield implements [Runtime].
func (*Real) Yield() { runtime.Gosched() }

// Wall implements [Runtime]. Round takes away the monotonic reading, by which the time
// package would compare otherwise: it stands still while the machine is suspended, which
// is what Wall is asked for.
func (*Real) Wall() time.Time { return time.Now().Round(0) }

// Mono implements [Runtime]. It stands still while the machine is suspended;
// who must not be fooled by that looks at Wall as well.
func (r *Real) Mono() time.Duration { return time.Since(r.base) }

// After implements [Runtime].
func (*Real) After(d time.Duration, fn func()) (stop func()) {
	t := time.AfterFunc(d, fn)
	return func() { t.Stop() }
}

// WithCancel implements [Runtime].
func (*Real) WithCancel(parent context.Context) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(parent)
}

// Random implements [Runtime].
func (*Real) Random(p []byte) { rand.Read(p) } // never fails: see crypto/rand

// NewSignal implements [Runtime].
func (*Real) NewSignal() Signal { return make(signal, 1) }

// NewLatch implements [Runtime].
func (*Real) NewLatch() Latch { return &latch{open: make(chan struct{})} }

type signal chan struct{}

func (s signal) Wake() {
	select {
	case s <- struct{}{}:
	default: // one is remembered already
	}
}

func (s signal) Wait(ctx context.Context) error {
	select {
	case <-s:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
