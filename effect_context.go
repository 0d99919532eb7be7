package loom

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/loomwork/loom/internal/kernel"
)

// effectContext is what an effect gets: it carries who calls it, and it ends when the
// execution is cancelled, when its attempt takes too long, or when its run leaves. It
// makes its channel only for who asks for it.
type effectContext struct {
	run     *run
	op      *kernel.Op
	attempt int
	asks    bool // it asks what came of an earlier call, and does not call

	mu    sync.Mutex
	cause error // why it has ended, nil while it has not
	done  chan struct{}
	after []func() // to be called at the end; see AfterFunc
	// progress is what the step recorded last.
	progress json.RawMessage
}

type effectKey struct{}

// Deadline implements context.Context: there is none by the wall clock.
func (c *effectContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (c *effectContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.cause != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *effectContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.cause {
	case nil:
		return nil
	case context.DeadlineExceeded:
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// Value implements context.Context.
func (c *effectContext) Value(key any) any {
	if key == (effectKey{}) {
		return c
	}
	return nil
}

// AfterFunc makes contexts that are derived from this one end with it, without a
// goroutine of their own: package context looks for this method.
func (c *effectContext) AfterFunc(fn func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		c.run.rt.world.Go("after", fn)
		return func() bool { return false }
	}
	i := len(c.after)
	c.after = append(c.after, fn)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i >= len(c.after) || c.after[i] == nil {
			return false
		}
		c.after[i] = nil
		return true
	}
}

// end ends the context; only the first cause counts.
func (c *effectContext) end(cause error) {
	c.mu.Lock()
	if c.cause != nil {
		c.mu.Unlock()
		return
	}
	c.cause = cause
	if c.done != nil {
		close(c.done)
	}
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, fn := range after {
		if fn != nil {
			fn()
		}
	}
}

// timedOut reports whether the attempt's time limit ended the context.
func (c *effectContext) timedOut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause == context.DeadlineExceeded
}

func effectOf(ctx context.Context) *effectContext {
	c, _ := ctx.Value(effectKey{}).(*effectContext)
	return c
}

// IdempotencyKey returns the key of the step whose effect got ctx, 26 characters:
// the same for all its attempts, another one for every other step and execution,
// also for an execution that was deleted and started again under its id. Outside of
// an effect it returns "".
func IdempotencyKey(ctx context.Context) string {
	c := effectOf(ctx)
	if c == nil {
		return ""
	}
	return kernel.IdempotencyKey(c.run.id, c.run.seed, c.op.Path)
}

// Attempt returns which attempt of its step an effect is, from 1; 0 outside of an
// effect. A call that a crash cut off is made again under the same number.
func Attempt(ctx context.Context) int {
	c := effectOf(ctx)
	if c == nil {
		return 0
	}
	return c.attempt
}

// StepOf returns the execution and the path of the step whose effect got ctx; ok
// is false outside of an effect.
func StepOf(ctx context.Context) (execution, step string, ok bool) {
	c := effectOf(ctx)
	if c == nil {
		return "", "", false
	}
	return string(c.run.id), c.op.Path, true
}
