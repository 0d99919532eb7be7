package loom

import (
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// Hooks are told what happens, each execution's events in order, never two calls
// at once for one execution. A nil hook is none. OnEvent, OnDurable and OnAborted run on
// a fiber of their own, outside of the execution: one that is over [HookBudget], or that
// more than [HookBacklog] bytes of events wait for, is detached from that execution with
// one warning. One that panics is detached too.
//
// OnStorageError and OnWarn are waited for where the thing happens, for [HookBudget] at
// the most: after one call that is over it, neither is called any more.
//
// A hook is no durable subscription: what happens while the process is down, or
// after a detachment, it does not hear. [Runtime.Follow] reads durable facts back.
type Hooks struct {
	// OnEvent hears of an event as it is taken, before it is durable (the first
	// event of a chosen id after). Events of a replay are not told again.
	OnEvent func(event.Envelope)
	// OnDurable hears of an event once it is durable, after OnEvent of it.
	OnDurable func(event.Envelope)
	// OnAborted hears, once, that the events from a sequence on, of which OnEvent
	// told, will not become durable by this runtime.
	OnAborted func(id event.ExecutionID, from event.Seq, cause error)
	// OnStorageError hears of a commit that has to be repeated, once for each
	// request, and of a start that failed.
	OnStorageError func(id event.ExecutionID, err error)
	// OnWarn hears of what people should look at: a divergence, a log that does not
	// decode, a stuck body, a detached hook, messages that nobody received.
	OnWarn func(id event.ExecutionID, err error)
}

const (
	// HookBudget is how long one call of a hook may take.
	HookBudget = 5 * time.Second
	// HookBacklog is how many bytes of events may wait for a hook.
	HookBacklog = 4 << 20
)

func (h Hooks) apply(r *Runtime) error { r.hooks = h; return nil }

// any reports whether a hook hears of events.
func (h *Hooks) any() bool { return h.OnEvent != nil || h.OnDurable != nil || h.OnAborted != nil }

func (x *run) event(e event.Envelope) { x.hooks.put(told{env: e, what: tellEvent}) }

func (x *run) wasDurable(e event.Envelope) { x.hooks.put(told{env: e, what: tellDurable}) }

func (x *run) aborted(from event.Seq, cause error) {
	x.hooks.put(told{env: event.Envelope{Execution: x.id, Sequence: from}, what: tellAborted, cause: cause})
}

// warn tells people.
func (r *Runtime) warn(id event.ExecutionID, err error) {
	r.log.Warn("loom: "+err.Error(), "execution", string(id))
	if r.stage != nil {
		r.stage.Warn(string(id), err)
	}
	if r.hooks.OnWarn != nil {
		r.aside(id, func() { r.hooks.OnWarn(id, err) })
	}
}

func (r *Runtime) storageError(id event.ExecutionID, err error) {
	r.log.Warn("loom: write has to be repeated", "execution", string(id), "err", err)
	if r.hooks.OnStorageError != nil {
		r.aside(id, func() { r.hooks.OnStorageError(id, err) })
	}
}

// aside calls OnWarn or OnStorageError on a fiber of its own, which may hang or end as it
// likes, and waits for it within the budget.
func (r *Runtime) aside(id event.ExecutionID, call func()) {
	if r.deaf.Load() {
		return
	}
	done := r.world.NewLatch()
	r.world.Go("hook", func() {
		defer done.Open() // also when the hook ends its goroutine
		r.guard(id, call)
	})
	ctx, cancel := r.world.WithCancel(forever)
	stop := r.world.After(HookBudget, func() { cancel(errHookSlow) })
	if done.Wait(ctx) != nil {
		r.deaf.Store(true)
		r.log.Warn("loom: OnWarn and OnStorageError are not called any more: a call takes too long", "execution", string(id))
	}
	stop()
	cancel(nil)
}

// guard keeps a hook's panic from taking the node down, and returns what it panicked
// with, nil for no panic.
func (r *Runtime) guard(id event.ExecutionID, call func()) (p *PanicError) {
	defer func() {
		if v := recover(); v != nil {
			p = panicError(kernel.NewPanic(v))
			r.log.Error("loom: hook panicked", "execution", string(id), "panic", p.Message, "stack", p.Stack)
		}
	}()
	call()
	return nil
}
