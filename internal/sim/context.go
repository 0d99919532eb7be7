package sim

import (
	"context"
	"slices"
)

// simContext is a context whose end is seen at once, in order and on the fiber
// that ended it. Inside is a context of the standard library with the same Done
// channel, so that standard children end with it, synchronously too, and
// context.Cause works.
type simContext struct {
	context.Context
	watchers []*watcher
	over     bool
}

// watcher is one call back for one context's end.
type watcher struct {
	ctx context.Context // for those that have to be asked
	fn  func()
}

type contextKey struct{}

// Value returns the context itself for the package's own key: how the nearest one
// is found under contexts that add values.
func (c *simContext) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// WithCancel implements rt.Runtime.
func (n *Node) WithCancel(parent context.Context) (context.Context, context.CancelCauseFunc) {
	n.enter()
	inner, end := context.WithCancelCause(parent)
	c := &simContext{Context: inner}
	leave := n.w.watchContext(parent, c.end)
	if inner.Err() != nil {
		c.end()
	}
	return c, func(cause error) {
		if n.dead {
			end(cause) // the std parent must forget it; nobody else is told
			return
		}
		end(cause)
		leave()
		c.end()
	}
}

func (c *simContext) end() {
	if c.over {
		return
	}
	c.over = true
	ws := c.watchers
	c.watchers = nil
	for _, x := range ws {
		x.fn()
	}
}

// watchContext calls fn when ctx ends, if it has not yet. A context that does not
// descend from the world's own, or that ends by itself too, is asked at each
// step.
func (w *World) watchContext(ctx context.Context, fn func()) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	x := &watcher{ctx: ctx, fn: fn}
	if c, ok := ctx.Value(contextKey{}).(*simContext); ok && c.Done() == ctx.Done() {
		if c.over {
			return func() {}
		}
		c.watchers = append(c.watchers, x)
		return func() {
			c.watchers = slices.DeleteFunc(c.watchers, func(y *watcher) bool { return y == x })
		}
	}
	w.polled = append(w.polled, x)
	return func() {
		w.polled = slices.DeleteFunc(w.polled, func(y *watcher) bool { return y == x })
	}
}

// poll asks the contexts that cannot tell.
func (w *World) poll() {
	if len(w.polled) == 0 {
		return
	}
	var over []*watcher
	w.polled = slices.DeleteFunc(w.polled, func(x *watcher) bool {
		if x.ctx.Err() != nil {
			over = append(over, x)
			return true
		}
		return false
	})
	for _, x := range over {
		x.fn()
	}
}
