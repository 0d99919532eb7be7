package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

// fiber is a goroutine that runs while it holds the token. Code in a coroutine
// runs on another goroutine but as the fiber that resumed it: it waits at that
// fiber's gate.
type fiber struct {
	id   int64
	name string
	node *Node
	gate chan struct{} // the token comes in here

	state  fiberState
	why    string // what it waits for, for people
	killed bool   // it unwinds when it gets the token
	prio   int64  // for the priority policy
}

type fiberState uint8

const (
	runnable fiberState = iota
	running
	waiting
	done
)

func (f *fiber) String() string {
	s := fmt.Sprintf("%s/%s#%d", f.node.name, f.name, f.id)
	if f.state == waiting {
		s += " (" + f.why + ")"
	}
	return s
}

// spawn makes a fiber that can run.
func (w *World) spawn(n *Node, name string, fn func()) {
	w.fibers++
	f := &fiber{id: w.fibers, name: name, node: n, gate: make(chan struct{}, 1), state: waiting}
	n.fibers = append(n.fibers, f)
	w.sched.born(w, f)
	w.ready(f)
	go func() {
		defer w.exit(f)
		<-f.gate
		w.took()
		if f.killed {
			return
		}
		fn()
	}()
}

// exit ends a fiber, however it ends, and gives the token on.
func (w *World) exit(f *fiber) {
	if r := recover(); r != nil {
		w.Fail("panic in %s: %v\n%s", f, r, debug.Stack())
	}
	f.state = done
	f.node.fibers = slices.DeleteFunc(f.node.fibers, func(g *fiber) bool { return g == f })
	if f.killed {
		w.back <- struct{}{}
		return
	}
	w.hand(w.pick())
}

// ready lets a waiting fiber run again.
func (w *World) ready(f *fiber) {
	if f.state != waiting || f.node.dead {
		return
	}
	f.state = runnable
	if f.node.paused {
		f.node.held = append(f.node.held, f)
		return
	}
	w.runnable = append(w.runnable, f)
}

// block gives the token away until somebody calls ready.
func (w *World) block(why string) {
	f := w.cur
	f.state, f.why = waiting, why
	w.give(f)
}

// yield gives the token away and stays ready.
func (w *World) yield() {
	f := w.cur
	f.state = waiting
	w.ready(f)
	w.give(f)
}

// give passes the token on from f and returns when it is f's again.
func (w *World) give(f *fiber) {
	next := w.pick()
	if next == f {
		return
	}
	w.hand(next)
	<-f.gate
	w.took()
	if f.killed {
		runtime.Goexit()
	}
}

// hand gives the token to a fiber, or home if there is none. Whoever calls it
// touches nothing of the world afterwards.
func (w *World) hand(f *fiber) {
	if f == nil {
		w.home <- struct{}{}
		return
	}
	f.gate <- struct{}{}
}

// pick takes the next fiber out of the runnable ones and makes it the current
// one; nil if the world is over.
func (w *World) pick() *fiber {
	for w.failure == nil && !w.abandoned.Load() {
		w.poll()
		if stack := w.foreign.Load(); stack != nil {
			w.Fail("%s", foreignText(*stack))
			break
		}
		if len(w.runnable) > 0 {
			if w.steps.Add(1) > w.opts.MaxSteps {
				w.Fail("no progress: %d steps", w.opts.MaxSteps)
				break
			}
			f := w.sched.take(w)
			f.state = running
			w.cur = f
			w.mix(uint64(f.id)<<40 ^ uint64(w.now))
			w.trace.step(w, f)
			return f
		}
		if w.mainDone {
			break
		}
		if w.opts.Horizon > 0 && w.now > w.opts.Horizon {
			w.Fail("nothing has come of %v of waiting; waiting: %s", w.opts.Horizon, w.waiters())
			break
		}
		if !w.advance() {
			w.Fail("deadlock: nothing can run and no timer is armed; waiting: %s", w.waiters())
		}
	}
	return nil
}

func (w *World) waiters() string {
	s := ""
	for _, n := range w.nodes {
		for _, f := range n.fibers {
			if s != "" {
				s += ", "
			}
			s += f.String()
			if n.paused {
				s += " (paused)"
			}
		}
	}
	return s
}

// unwind ends a fiber that does not hold the token: its deferred functions run,
// now, and each call that they make into the world ends them in turn.
func (w *World) unwind(f *fiber) {
	saved := w.cur
	f.killed = true
	w.cur = f
	f.gate <- struct{}{}
	<-w.back
	w.took()
	w.cur = saved
}
