package sim

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom/internal/rt"
)

// What worlds need in which people's own tests run: see [Options.Gone].

// Here is the node of the fiber that runs.
func (w *World) Here() *Node {
	w.native()
	return w.cur.node
}

// Fiber is the number of the fiber that runs.
func (w *World) Fiber() int64 {
	w.native()
	return w.cur.id
}

// Watch calls fn at each await point of the node, on the fiber that comes to it, with
// what it is: "store before commit", "store after commit", "latch". fn may crash the
// node.
func (n *Node) Watch(fn func(site string)) { n.each = func() { fn(n.w.site) } }

// left takes a visitor off the books. One that waited for a node that has crashed since
// does not go on.
func (n *Node) left(f *fiber) {
	n.visitors = slices.DeleteFunc(n.visitors, func(g *fiber) bool { return g == f })
	n.w.dying()
	if n.dead {
		n.w.opts.Gone(n, true)
	}
}

// took notes which goroutine has the token now.
func (w *World) took() {
	if w.opts.Gone != nil {
		w.holder.Store(rt.Goroutine())
	}
}

// native ends a goroutine that calls the world and does not have the token: it is no
// fiber, and what it does cannot be put into an order. The world fails at its next step.
func (w *World) native() {
	if w.opts.Gone == nil || w.holder.Load() == rt.Goroutine() {
		return
	}
	buf := make([]byte, 1<<14)
	stack := string(buf[:runtime.Stack(buf, false)])
	w.foreign.CompareAndSwap(nil, &stack)
	runtime.Goexit()
}

func foreignText(stack string) string {
	return "called from a goroutine that a go statement began:\n" + stack
}

// forForeign is how long the world may stand still, in real time, after a goroutine that
// is no fiber has been ended: somebody may wait for it.
const forForeign = 500 * time.Millisecond

// watchVisitors gives the world up when it stands still in real time.
func (w *World) watchVisitors() (stop func()) {
	limit := w.opts.Patience
	if limit == 0 {
		limit = patience
	}
	tick := min(limit, forForeign) / 2
	var t *time.Timer
	last, still := int64(-1), time.Duration(0)
	t = time.AfterFunc(tick, func() {
		if s := w.steps.Load(); s != last {
			last, still = s, 0
		} else {
			still += tick
		}
		stack := w.foreign.Load()
		if still < limit && (stack == nil || still < forForeign) {
			t.Reset(tick)
			return
		}
		text := fmt.Sprintf("for %v of real time:\n%s", limit, busyStacks())
		if stack != nil {
			text = foreignText(*stack)
		}
		w.opts.Stuck(text)
		w.abandoned.Store(true)
		select {
		case w.home <- struct{}{}:
		default: // the world has just come to its end
		}
	})
	return func() { t.Stop() }
}

// busyStacks returns the stacks of the fibers' goroutines that run, or wait for something
// which is not of their world.
func busyStacks() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		if !strings.Contains(g, "sim.(*World).spawn") && !strings.Contains(g, "sim.(*coroutine)") {
			continue
		}
		waits := false
		for _, f := range []string{"sim.(*World).give(", "sim.(*coroutine).yield(", "sim.(*coroutine).enterBody("} {
			waits = waits || strings.Contains(g, f)
		}
		_, first, _ := strings.Cut(g, "\n")
		first, _, _ = strings.Cut(first, "\n")
		if waits || strings.Contains(first, "sim.(*World).spawn.func") || strings.Contains(first, "sim.(*coroutine).run(") {
			continue
		}
		out = append(out, g)
	}
	return strings.Join(out, "\n\n")
}
