package loom

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/loomwork/loom/internal/rt"
)

// stuckAfter is how long a body may keep control before people are told.
const stuckAfter = 10 * time.Second

// watched makes a branch's coroutine note when it is given control, for the sake of
// watchLoop.
func (x *run) watched(fn func(yield func())) rt.Coroutine {
	return &watchedCoroutine{Coroutine: x.rt.world.Coroutine(fn), x: x}
}

type watchedCoroutine struct {
	rt.Coroutine
	x *run
}

func (w *watchedCoroutine) Resume() bool {
	w.x.since.Store(int64(w.x.rt.world.Mono()) + 1)
	alive := w.Coroutine.Resume()
	w.x.since.Store(0)
	return alive
}

// StuckError warns of a body that neither waits nor returns: it computes for long,
// blocks outside of a verb, or loops. Its execution stands still meanwhile.
type StuckError struct {
	For   time.Duration
	Stack string // of the goroutine that has control
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("loom: a body has neither waited nor returned for %v", e.For)
}

// LoomCode returns the error's stable code.
func (e *StuckError) LoomCode() string { return "stuck" }

// watchLoop warns, once for each time, of bodies that keep control for too long.
func (r *Runtime) watchLoop() {
	warned := map[*run]int64{}
	for r.sleep(stuckAfter/4) == nil {
		r.mu.Lock()
		runs := r.liveRuns()
		r.mu.Unlock()
		now := r.world.Mono()
		still := map[*run]int64{}
		for _, x := range runs {
			since := x.since.Load()
			held := now - time.Duration(since)
			if since == 0 || held < stuckAfter {
				continue
			}
			still[x] = since
			if warned[x] != since {
				r.warn(x.id, &StuckError{For: held.Truncate(time.Second), Stack: bodyStacks()})
			}
		}
		warned = still
	}
}

// bodyStacks returns the stacks of the bodies' goroutines that have control now, of
// all executions: the runtime does not tell whose is whose.
func bodyStacks() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(g, "kernel.(*Branch).run(") && !strings.Contains(g, "kernel.(*Branch).park(") {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}
