package loom

import (
	"errors"
	"fmt"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/internal/sabotage"
)

type tell uint8

const (
	tellEvent tell = iota
	tellDurable
	tellAborted
)

func (t tell) String() string { return [...]string{"OnEvent", "OnDurable", "OnAborted"}[t] }

// told is one call of a hook.
type told struct {
	env   event.Envelope
	what  tell
	cause error
}

// hookQueue hands one execution's events to the hooks, in order, on its own fiber.
// A nil hookQueue drops what it is given.
type hookQueue struct {
	r    *Runtime
	id   event.ExecutionID
	wake rt.Signal
	over rt.Latch // nothing more is told of this run
	// before is the queue of the run that this node had of the execution before, nil
	// for none: what that still has to tell comes first.
	before *hookQueue

	mu struct {
		sync.Mutex
		queue    []told
		bytes    int
		closed   bool
		detached bool
	}
}

func newHookQueue(r *Runtime, id event.ExecutionID) *hookQueue {
	q := &hookQueue{r: r, id: id, wake: r.world.NewSignal(), over: r.world.NewLatch()}
	r.mu.Lock()
	q.before = r.mu.telling[id]
	r.mu.telling[id] = q
	r.mu.Unlock()
	r.world.Go("hooks", q.run)
	return q
}

// end lets the next run's queue begin.
func (q *hookQueue) end() {
	q.r.mu.Lock()
	if q.r.mu.telling[q.id] == q {
		delete(q.r.mu.telling, q.id)
	}
	q.r.mu.Unlock()
	q.over.Open()
}

var errHookBehind = errors.New("hook detached: too much waits for it")
var errHookSlow = errors.New("hook detached: a call takes too long")

func (q *hookQueue) put(t told) {
	if q == nil {
		return
	}
	q.mu.Lock()
	behind := false
	if !q.mu.detached {
		q.mu.queue = append(q.mu.queue, t)
		q.mu.bytes += t.env.Size()
		behind = q.mu.bytes > HookBacklog
	}
	q.mu.Unlock()
	if behind {
		q.detach(errHookBehind)
	}
	q.wake.Wake()
}

// close ends the queue once it is empty.
func (q *hookQueue) close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	q.mu.closed = true
	q.mu.Unlock()
	q.wake.Wake()
}

// detach drops what waits and what will come, and warns once.
func (q *hookQueue) detach(why error) {
	q.mu.Lock()
	first := !q.mu.detached
	q.mu.detached, q.mu.queue, q.mu.bytes = true, nil, 0
	q.mu.Unlock()
	if first {
		q.over.Open() // a call that hangs keeps nobody waiting
		q.r.warn(q.id, why)
	}
}

func (q *hookQueue) run() {
	defer q.end()
	if q.before != nil && !sabotage.On("hooks-overlap") {
		_ = q.before.over.Wait(forever)
		q.before = nil
	}
	for {
		q.mu.Lock()
		batch, closed := q.mu.queue, q.mu.closed
		q.mu.queue, q.mu.bytes = nil, 0
		q.mu.Unlock()
		for _, t := range batch {
			q.call(t)
		}
		if len(batch) > 0 {
			continue
		}
		if closed {
			return
		}
		_ = q.wake.Wait(forever)
	}
}

func (q *hookQueue) call(t told) {
	q.mu.Lock()
	detached := q.mu.detached
	q.mu.Unlock()
	if detached {
		return
	}
	stop := q.r.world.After(HookBudget, func() { q.detach(errHookSlow) })
	defer stop()
	h := &q.r.hooks
	panicked := q.r.guard(q.id, func() {
		switch {
		case t.what == tellEvent && h.OnEvent != nil:
			h.OnEvent(t.env)
		case t.what == tellDurable && h.OnDurable != nil:
			h.OnDurable(t.env)
		case t.what == tellAborted && h.OnAborted != nil:
			h.OnAborted(q.id, t.env.Sequence, t.cause)
		}
	})
	if panicked != nil {
		q.detach(fmt.Errorf("%s hook detached: %w", t.what, panicked))
	}
}
