package sim

import (
	"runtime/debug"
	"slices"

	"github.com/loomwork/loom/internal/rt"
)

// coroutine implements rt.Coroutine: a goroutine and two channels. While it runs
// it is its resumer's fiber, so it may wait like it.
type coroutine struct {
	n       *Node
	id      int64
	fn      func(yield func())
	in, out chan struct{}
	state   coroutineState
}

type coroutineState uint8

const (
	fresh coroutineState = iota
	suspended
	active
	ended
)

// Coroutine implements rt.Runtime.
func (n *Node) Coroutine(fn func(yield func())) rt.Coroutine {
	n.enter()
	n.made++
	return &coroutine{n: n, id: n.made, fn: fn}
}

// Resume implements rt.Coroutine.
func (c *coroutine) Resume() (alive bool) {
	c.n.enter()
	switch c.state {
	case ended:
		return false
	case active:
		c.n.w.Fail("a coroutine of %s is resumed while it runs", c.n)
		return true
	case fresh:
		c.in, c.out = make(chan struct{}), make(chan struct{})
		c.n.coroutines = append(c.n.coroutines, c)
		go c.run()
	}
	c.enterBody()
	c.n.enter()
	return c.state != ended
}

// enterBody gives control to the function and returns when it is back.
func (c *coroutine) enterBody() {
	c.state = active
	c.in <- struct{}{}
	<-c.out
	c.n.w.took()
}

func (c *coroutine) run() {
	defer func() {
		if r := recover(); r != nil {
			c.n.w.Fail("panic in a coroutine of %s: %v\n%s", c.n, r, debug.Stack())
		}
		c.state = ended
		c.n.coroutines = slices.DeleteFunc(c.n.coroutines, func(d *coroutine) bool { return d == c })
		c.out <- struct{}{}
	}()
	<-c.in
	c.n.w.took()
	c.fn(c.yield)
}

func (c *coroutine) yield() {
	c.n.enter()
	c.state = suspended
	c.out <- struct{}{}
	<-c.in
	c.n.w.took()
	c.n.enter()
}

// unwind ends a suspended coroutine of a dead node.
func (c *coroutine) unwind() {
	w := c.n.w
	saved := w.cur
	w.cur = c.n.ghost
	c.enterBody()
	w.cur = saved
}
