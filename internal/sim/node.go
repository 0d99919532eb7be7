package sim

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/loomwork/loom/internal/rt"
)

// Node is one simulated process. It implements rt.Runtime; a method of that
// interface that is called on a dead node ends the calling fiber.
type Node struct {
	w    *World
	name string
	wall *Clock
	mono *Clock
	rng  *rand.PCG

	fibers     []*fiber
	coroutines []*coroutine // begun and not ended
	made       int64        // coroutines, ever
	held       []*fiber     // could run, but the node is paused
	timers     timers
	ghost      *fiber // stands for the node while its coroutines unwind

	points int64
	plan   []planned
	each   func() // called at each await point; nil for nothing

	visitors []*fiber // of other nodes, that wait for something of this one

	paused bool
	dead   bool
}

type planned struct {
	at int64
	fn func()
}

var _ rt.Runtime = (*Node)(nil)

// Node makes a node. Names are used once: a process that comes back after a crash
// is another node.
func (w *World) Node(name string) *Node {
	for _, n := range w.nodes {
		if n.name == name {
			panic("sim: a second node " + name)
		}
	}
	n := &Node{w: w, name: name, rng: rand.NewPCG(w.seed, hashString(name))}
	n.wall = &Clock{w: w, since: w.now, shown: epoch + w.now}
	n.mono = &Clock{w: w, since: w.now, shown: time.Second}
	n.ghost = &fiber{name: "ghost", node: n, state: done}
	w.nodes = append(w.nodes, n)
	return n
}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// World returns the node's world.
func (n *Node) World() *World { return n.w }

// WallClock is the node's wall clock, to be set wrong.
func (n *Node) WallClock() *Clock { return n.wall }

// MonoClock is the node's monotonic clock: it may drift and freeze, and must not
// jump back.
func (n *Node) MonoClock() *Clock { return n.mono }

// Go implements rt.Runtime.
func (n *Node) Go(name string, fn func()) {
	n.enter()
	n.w.spawn(n, name, fn)
}

// Wall implements rt.Runtime.
func (n *Node) Wall() time.Time {
	n.enter()
	return time.Unix(0, int64(n.wall.Now())).UTC()
}

// Mono implements rt.Runtime.
func (n *Node) Mono() time.Duration {
	n.enter()
	return n.mono.Now()
}

// After implements rt.Runtime.
func (n *Node) After(d time.Duration, fn func()) (stop func()) {
	n.enter()
	n.w.armed++
	now := n.mono.Now()
	t := &timer{due: now + min(max(d, 0), math.MaxInt64-now), arm: n.w.armed, fn: fn}
	heap.Push(&n.timers, t)
	return func() {
		if t.at >= 0 && !n.dead {
			heap.Remove(&n.timers, t.at)
		}
	}
}

// Random implements rt.Runtime.
func (n *Node) Random(p []byte) {
	n.enter()
	for i := 0; i < len(p); i += 8 {
		x := n.rng.Uint64()
		for j := i; j < min(i+8, len(p)); j++ {
			p[j] = byte(x)
			x >>= 8
		}
	}
}

// Sleep waits for d by the node's monotonic clock.
func (n *Node) Sleep(d time.Duration) { n.SleepContext(context.Background(), d) }

// SleepContext is Sleep that ends early with the cause of ctx's end.
func (n *Node) SleepContext(ctx context.Context, d time.Duration) error {
	s := n.NewSignal()
	stop := n.After(d, s.Wake)
	defer stop()
	return s.Wait(ctx)
}

// Yield implements rt.Runtime.
func (n *Node) Yield() {
	n.enter()
	n.point("yield")
	n.w.yield()
	n.enter()
}

// enter ends the calling fiber if it is one of a dead node, or is being unwound.
func (n *Node) enter() {
	n.w.native()
	n.w.dying()
	if n.dead {
		if n.w.opts.Gone != nil {
			n.w.opts.Gone(n, false)
		}
		n.w.Fail("a fiber of another node calls the dead node %s", n.name)
	}
}

// dying ends the calling fiber if it has no business in the world any more.
func (w *World) dying() {
	if f := w.cur; f != nil && (f.killed || f.node.dead) {
		runtime.Goexit()
	}
}

// point counts one of the node's await points: each is a place where a crash or
// a pause is a different story.
func (n *Node) point(site string) {
	n.points++
	n.w.site = site
	n.w.mixString(site)
	if n.each != nil {
		n.each()
		n.enter()
	}
	for i := 0; i < len(n.plan); i++ {
		if p := n.plan[i]; p.at == n.points {
			n.plan = slices.Delete(n.plan, i, i+1)
			i--
			p.fn()
			n.enter()
		}
	}
}

// Points is how many await points the node has passed.
func (n *Node) Points() int64 { return n.points }

// AtPoint calls fn on the fiber that comes to the node's k-th await point,
// counted from 1; fn may crash or pause the node.
func (n *Node) AtPoint(k int64, fn func()) { n.plan = append(n.plan, planned{k, fn}) }

// Dead reports whether the node has crashed.
func (n *Node) Dead() bool { return n.dead }

// Crash kills the node: none of its fibers runs again, its timers and memory are
// gone. What its deferred functions would do to the world is not done. Called on
// a fiber of the node, Crash does not return.
func (n *Node) Crash() {
	if n == n.w.outside {
		panic("sim: the outside does not crash")
	}
	n.w.native()
	n.w.dying()
	if n.dead {
		return
	}
	n.w.Note("crash of %s", n.name)
	self := n.w.cur
	n.w.end(n)
	for _, f := range n.visitors {
		n.w.ready(f)
	}
	if self != nil && self.node == n {
		runtime.Goexit()
	}
}

// end makes n dead and unwinds everything on it but the current fiber.
func (w *World) end(n *Node) {
	n.dead, n.paused = true, false
	n.timers, n.held, n.plan, n.each = nil, nil, nil, nil
	w.runnable = slices.DeleteFunc(w.runnable, func(f *fiber) bool { return f.node == n })
	for _, f := range slices.Clone(n.fibers) {
		if f.state != running {
			w.unwind(f)
		}
	}
	for _, c := range slices.Clone(n.coroutines) {
		if c.state == suspended {
			c.unwind()
		}
	}
}

// Pause stops the node: its fibers are not scheduled and its timers do not fire,
// while time goes on for everybody else. A fiber of the node that calls it goes
// on to its next scheduling point.
func (n *Node) Pause() {
	if n.paused || n.dead {
		return
	}
	n.w.Note("pause of %s", n.name)
	n.paused = true
	n.w.runnable = slices.DeleteFunc(n.w.runnable, func(f *fiber) bool {
		if f.node == n {
			n.held = append(n.held, f)
		}
		return f.node == n
	})
}

// Paused reports whether the node is paused.
func (n *Node) Paused() bool { return n.paused }

// Resume lets a paused node go on.
func (n *Node) Resume() {
	if !n.paused || n.dead {
		return
	}
	n.w.Note("resume of %s", n.name)
	n.paused = false
	n.w.runnable = append(n.w.runnable, n.held...)
	n.held = nil
}

func (n *Node) String() string { return fmt.Sprintf("node %s", n.name) }
