package loom

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
)

// Run is a handle to an execution whose result is an Out.
type Run[Out any] struct {
	rt  *Runtime
	id  event.ExecutionID
	own *run // that this handle's start began, nil for none
}

// Attach returns a handle to an execution, by whatever process it was started or is
// driven. It does not look whether there is one. The error is an [*IDError].
func Attach[Out any](r *Runtime, id string) (*Run[Out], error) {
	if err := event.ExecutionID(id).Validate(); err != nil {
		return nil, err
	}
	return &Run[Out]{rt: r, id: event.ExecutionID(id)}, nil
}

// ID returns the execution's id.
func (r *Run[Out]) ID() string { return string(r.id) }

// Durable waits until the execution is durable: after it, the id may be handed on.
// Errors: a [*StorageWriteError] if it never will be; the cause of ctx's end.
func (r *Run[Out]) Durable(ctx context.Context) error {
	x := r.own
	if x == nil { // attached: this node may drive it all the same
		x = r.rt.liveRun(r.id)
	}
	if x == nil {
		return nil
	}
	if err := x.born.Wait(ctx); err != nil {
		return err
	}
	if !x.durable.Load() {
		return &StorageWriteError{ID: r.id, Err: x.reason()}
	}
	return nil
}

// Result waits until the execution has ended, here or elsewhere, and returns its
// result once that is durable. It waits across crashes of the node that drives it.
//
// Errors: an [*ExecutionError] if it failed, was cancelled (it then matches
// [ErrCancelled], and [ErrDeadline] if its deadline passed) or terminated
// ([ErrTerminated]); once, a
// [*StorageWriteError] if this runtime could not write and let the execution go, or
// a [*DivergedError] if its code does not fit the log: called again, Result follows
// the store; [ErrNotFound]; an [*InputValidationError] if the result is not an Out;
// [ErrClosed]; the cause of ctx's end.
func (r *Run[Out]) Result(ctx context.Context) (Out, error) {
	var zero Out
	raw, err := r.rt.result(ctx, r.id, r.own)
	if err != nil {
		return zero, err
	}
	return decode[Out]("result of execution "+string(r.id), raw)
}

// Signal sends the execution a message, see [Runtime.Signal].
func (r *Run[Out]) Signal(ctx context.Context, name string, v any, opts ...SignalOption) error {
	return r.rt.Signal(ctx, string(r.id), name, v, opts...)
}

// Cancel asks the execution to give way, see [Runtime.Cancel].
func (r *Run[Out]) Cancel(ctx context.Context, reason string) error {
	return r.rt.Cancel(ctx, string(r.id), reason)
}

// Terminate ends the execution at once, see [Runtime.Terminate].
func (r *Run[Out]) Terminate(ctx context.Context, reason string) error {
	return r.rt.Terminate(ctx, string(r.id), reason)
}

// result follows an execution to its end. own is a run to ask first.
func (r *Runtime) result(ctx context.Context, id event.ExecutionID, own *run) (json.RawMessage, error) {
	if own == nil {
		own = r.liveRun(id)
	}
	var changed rt.Signal
	for {
		if own != nil {
			if err := own.done.Wait(ctx); err != nil {
				return nil, err
			}
			if e := own.ending(); e != nil {
				return e.outcome(id)
			}
			if err := own.takeError(); err != nil {
				return nil, err
			}
		}
		if r.closing() {
			return nil, ErrClosed
		}
		if changed == nil { // before the store is asked, or a change could be missed
			changed = r.watch(id)
			defer r.unwatch(id, changed)
		}
		if e, err := r.stored(ctx, id); err != nil {
			return nil, err
		} else if e != nil {
			return e.outcome(id)
		}
		if why := r.skipReason(id); why != nil {
			return nil, why
		}
		if own = r.liveRun(id); own != nil {
			continue
		}
		if err := r.waitFor(ctx, changed, r.poll()); err != nil {
			return nil, err
		}
		own = r.liveRun(id)
	}
}

// skipReason returns why this node does not look at the execution, once.
func (r *Runtime) skipReason(id event.ExecutionID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.mu.skip[id]
	if !ok || s.why == nil {
		return nil
	}
	why := s.why
	r.mu.skip[id] = skipped{tip: s.tip}
	return why
}

// stored returns how an execution ended by the store, nil if it has not.
func (r *Runtime) stored(ctx context.Context, id event.ExecutionID) (*ending, error) {
	h, ok, err := r.st.Index.Get(ctx, id)
	if err != nil {
		return nil, closed(err)
	}
	if !ok {
		return nil, fmt.Errorf("loom: execution %s: %w", id, ErrNotFound)
	}
	if !h.State.Terminal() {
		return nil, nil
	}
	// The end is the last event, unless late facts follow it.
	for from := h.Tip.Head; ; from = 0 {
		for e, err := range r.st.Log.Read(ctx, id, store.Range{From: from, Strong: true}) {
			if err != nil {
				return nil, closed(err)
			}
			p, err := e.Decode()
			if err != nil {
				return nil, err
			}
			if end := endingOf(p); end != nil {
				return end, nil
			}
		}
		if from == 0 {
			return nil, fmt.Errorf("loom: execution %s ended, and its log has no end: %w", id, store.ErrCorrupt)
		}
	}
}

func endingOf(p event.Payload) *ending {
	switch p := p.(type) {
	case event.ExecutionCompleted:
		return &ending{status: fold.Completed, result: p.Result}
	case event.ExecutionFailed:
		return &ending{status: fold.Failed, failure: p.Error}
	case event.ExecutionCancelled:
		return &ending{status: fold.Cancelled, failure: p.Error}
	case event.ExecutionTerminated:
		return &ending{status: fold.Terminated, failure: fold.TerminatedFailure(p)}
	}
	return nil
}

func (e *ending) outcome(id event.ExecutionID) (json.RawMessage, error) {
	if e.status == fold.Completed {
		return e.result, nil
	}
	return nil, &ExecutionError{ID: id, Status: e.status, RecordedError: recordedOf(e.failure)}
}
