package loomtest

import (
	"runtime/debug"

	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/internal/sim"
)

// task is a function of the test that has turns of its own.
type task struct {
	name string
	done rt.Latch
}

// Go runs fn beside the running function; name is for failures. It returns what waits for
// fn's end. A call of fn's that is under way on a node when the node crashes does not
// return: fn ends there, and its deferred functions run.
func (e *Env) Go(name string, fn func()) (wait func()) {
	e.w.Here() // only who has the turn may
	k := e.begin(name, fn)
	e.begun = append(e.begun, k)
	return func() { _ = k.done.Wait(e.ctx) }
}

// begin runs fn on a fiber.
func (e *Env) begin(name string, fn func()) *task {
	k := &task{name: name, done: e.w.Outside().NewLatch()}
	e.w.Outside().Go(name, func() {
		e.tasks[e.w.Fiber()] = k
		returned := false
		defer func() {
			if !returned {
				e.ended(name, recover())
			}
			k.done.Open()
		}()
		fn()
		returned = true
	})
	return k
}

// ended takes a function that did not return: it panicked with what, or ended its
// goroutine.
func (e *Env) ended(name string, what any) {
	switch {
	case what != nil:
		e.w.Fail("panic in %s: %v\n%s", name, what, debug.Stack())
	case e.lost:
		e.lost = false // what it called has crashed
	case !e.w.Failed():
		e.abort()
	}
}

// abort ends the test, which has said why itself.
func (e *Env) abort() {
	e.aborted = true
	e.w.Fail("the test has ended itself")
}

// gone is called on a fiber that has to do with a node which has crashed.
func (e *Env) gone(n *sim.Node, waited bool) {
	k := e.tasks[e.w.Fiber()]
	switch {
	case k == nil:
		e.w.Fail("an effect calls %s, which has crashed", n)
	case !waited:
		e.w.Fail("%s calls %s, which has crashed", k.name, n)
	case len(e.begun) == 0 || !e.isBegun(k):
		e.w.Fail("%s was waiting in a call of %s, which has crashed: call it in a function of Env.Go", k.name, n)
	}
	e.lost = true
	exit()
}

func (e *Env) isBegun(k *task) bool {
	for _, other := range e.begun {
		if other == k {
			return true
		}
	}
	return false
}
