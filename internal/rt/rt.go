package rt

import (
	"context"
	"time"
)

// Runtime is one node's world.
type Runtime interface {
	// Go runs fn on a new fiber. name is for people.
	Go(name string, fn func())

	// Yield lets fibers run that are ready to. It waits for nothing.
	Yield()

	// Wall is the node's wall clock; it may jump. Times that it returned compare as that
	// clock showed them.
	Wall() time.Time

	// Mono is the time since some fixed point of this process; it never goes back.
	Mono() time.Duration

	// After calls fn once, on a fiber of its own, no earlier than d from now by
	// Mono. stop keeps it from being called if it was not yet; calling stop again,
	// or late, does nothing.
	After(d time.Duration, fn func()) (stop func())

	// NewSignal returns a wake-up for one waiter.
	NewSignal() Signal

	// NewLatch returns a door that opens once, for any number of waiters.
	NewLatch() Latch

	// WithCancel returns a context that ends when cancel is called or parent ends,
	// with the cause given. Its values are the parent's.
	WithCancel(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc)

	// Random fills p from the node's entropy.
	Random(p []byte)

	// Coroutine returns fn as a coroutine that has not begun: see [Coroutine].
	Coroutine(fn func(yield func())) Coroutine
}

// Signal is a wake-up that is remembered until one Wait takes it. Many wakes
// before a Wait are one.
type Signal interface {
	Wake()
	// Wait returns nil after a Wake, or the cause of ctx's end.
	Wait(ctx context.Context) error
}

// Latch is a door that opens once.
type Latch interface {
	Open()
	// Wait returns nil once the door is open, or the cause of ctx's end.
	Wait(ctx context.Context) error
	// Opened reports whether it is open.
	Opened() bool
}

// Coroutine is a function that runs only while its caller waits for it: control
// goes in with Resume and comes back when the function calls yield or ends.
type Coroutine interface {
	// Resume runs the function to its next yield or its end, and reports whether
	// it is still alive. Resume of an ended one returns false at once. A function
	// may end by runtime.Goexit as well as by returning; it must not panic.
	Resume() (alive bool)
}
