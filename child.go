package loom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/composed"
	"github.com/loomwork/loom/internal/kernel"
)

// ChildOption changes how [Flow.Child] and [Flow.Spawn] start a child: any
// [StartOption], and [OnParentCancel].
type ChildOption interface{ child(*childSpec) }

type childSpec struct {
	start    startSpec
	onCancel string
}

func (o StartOption) child(c *childSpec) { o(&c.start) }

type childOption func(*childSpec)

func (o childOption) child(c *childSpec) { o(c) }

// CancelPolicy says what a cancel of the parent does to a child.
type CancelPolicy int

// Policies. The zero one is RequestCancel.
const (
	// RequestCancel asks the child to give way too, and the parent waits until it has
	// ended, because what comes after must know the truth.
	RequestCancel CancelPolicy = iota
	// Abandon lets the child go on, and the parent waits for it no longer.
	Abandon
	// KeepWaiting lets the child go on, and the parent goes on waiting for it.
	KeepWaiting
)

// OnParentCancel says what a cancel of the parent, or of the branch that began the child,
// does to the child while the parent waits for it, or could.
func OnParentCancel(p CancelPolicy) ChildOption {
	return childOption(func(c *childSpec) {
		c.onCancel = map[CancelPolicy]string{Abandon: event.OnCancelAbandon, KeepWaiting: event.OnCancelWait}[p]
	})
}

// Child is an execution that a body has started. Make one with [Flow.Spawn].
type Child[Out any] struct {
	op *kernel.Op
}

// ID returns the child's execution id.
func (c *Child[Out]) ID() string { return string(c.op.Child) }

// Get waits until the child has ended and returns its result. Any branch may ask, and
// again. Errors: an [*ExecutionError] as that of [Run.Result]; [ErrCancelled] if the
// parent was cancelled and abandons the child; an [*InputValidationError] if the result
// is not an Out; [ErrUnloading], [*WrongBranchError], [*ForeignGoroutineError].
func (c *Child[Out]) Get(ctx Context) (Out, error) {
	var zero Out
	b := ctx.branch()
	if d := b.k.WaitOther(c.op); d != kernel.Allowed {
		return zero, b.denied(d)
	}
	if err := childError(c.op); err != nil {
		return zero, err
	}
	return decode[Out]("result of execution "+string(c.op.Child), c.op.Result)
}

// childError is how a settled child failed, nil if it did not.
func childError(op *kernel.Op) error {
	switch op.Ending {
	case kernel.GaveWay:
		return ErrCancelled
	case kernel.Failed:
		return &ExecutionError{ID: op.Child, Status: fold.Status(op.Status()), RecordedError: recordedOf(op.Failure)}
	}
	return nil
}

// Child starts an execution of f as a child of the body's and returns its result: it is
// [Flow.Spawn] and [Child.Get] in one.
func (f *Flow[In, Out]) Child(ctx Context, in In, opts ...ChildOption) (Out, error) {
	c, err := f.Spawn(ctx, in, opts...)
	if err != nil {
		var zero Out
		return zero, err
	}
	return c.Get(ctx)
}

// Spawn starts an execution of f as a child of the body's, and returns once it is
// durable. The child runs on whatever node has its flow, and knows its parent; when it
// ends, the commit that records its end also tells the parent, so that no crash of
// either loses that. A body may return with children that still run: they go on.
//
// The child's id is made from the parent's, unless [ID] chooses one. It is started once:
// a parent that is recovered finds the child that it has started. A child whose id is
// taken by another execution is not started, and Spawn returns an [*ExecutionError] of
// status "refused" that matches [ErrAlreadyExists].
//
// Other errors: [ErrCancelled] if the parent was cancelled before the child was started;
// [*IDError], [*NameError], [*InputValidationError] and [*TooLargeError] for the input
// and the options, before anything is written; [ErrUnloading], [*WrongBranchError],
// [*ForeignGoroutineError].
func (f *Flow[In, Out]) Spawn(ctx Context, in In, opts ...ChildOption) (*Child[Out], error) {
	b := ctx.branch()
	rt := b.run.rt
	input, err := encode("input of flow "+f.name, in, rt.tune.MaxPayload)
	if err != nil {
		return nil, err
	}
	var c childSpec
	for _, o := range opts {
		o.child(&c)
	}
	if err := c.start.validate(rt.tune.MaxPayload); err != nil {
		return nil, err
	}
	s := &step{name: f.name, limit: rt.tune.MaxPayload}
	op, d := b.k.Child(f.name, c.start.id, f.name, c.onCancel, &kernel.Effect{Do: s})
	if d != kernel.Allowed {
		return nil, b.denied(d)
	}
	x := b.run
	s.call = func(ctx context.Context) (json.RawMessage, error) {
		spec := c.start
		if !spec.chosen {
			Composed(composed.New(op.Child))(&spec)
		}
		spec.parent = &parentLink{Execution: x.id, Operation: op.Path, Fingerprint: x.fingerprint()}
		_, _, err := rt.startAs(ctx, f.name, f.version, input, spec)
		var there *ExecutionAlreadyExistsError
		if errors.As(err, &there) && there.parent == spec.parent.String() {
			err = nil // an earlier owner has started it
		}
		return nil, err
	}
	b.k.WaitStarted(op)
	if !op.Started {
		if err := childError(op); err != nil {
			if op.Failure != nil && op.Failure.Code == event.CodeCancelled && op.Status() == event.ChildRefused {
				return nil, ErrCancelled
			}
			return nil, err
		}
	}
	return &Child[Out]{op: op}, nil
}

// parentLink is what a child's first event says of its parent.
type parentLink struct {
	Execution   event.ExecutionID `json:"execution"`
	Operation   string            `json:"operation"`
	Fingerprint string            `json:"fingerprint"` // of the parent's first event
}

// String returns the link as it is recorded.
func (l *parentLink) String() string {
	raw, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings
	}
	return string(raw)
}

// linkOf returns what an execution's first event says of its parent, nil for none.
func linkOf(first event.Envelope) *parentLink {
	if len(first.Meta) == 0 {
		return nil
	}
	meta, err := event.DecodeMeta(first.Meta)
	if err != nil || meta[event.MetaParent] == "" {
		return nil
	}
	var l parentLink
	if json.Unmarshal([]byte(meta[event.MetaParent]), &l) != nil || l.Execution == "" {
		return nil
	}
	return &l
}

// fingerprint is that of this execution.
func (x *run) fingerprint() string { return kernel.Fingerprint(x.id, x.origin) }

// startsChild reports whether an operation is a child.
func startsChild(op *kernel.Op) bool { return op.Kind == fold.Child }

// settleChildStart takes what came of a child's start.
func (x *run) settleChildStart(l letter) {
	op := l.op
	switch {
	case l.failure == nil:
		x.m.StartedChild(op)
		x.gather(false)
		if op.Cancelled && op.Ending == kernel.Open {
			x.cancelChild(op)
		}
	case l.failure.Code == string(ErrAlreadyExists):
		x.refuseChild(op, l.failure)
	case x.stopping():
		// whoever comes next tries again
	default:
		s := op.Effect.Do.(*step)
		s.asked++
		wait := Retry{Initial: childRetry, Max: maxChildRetry}.wait(s.asked, x.id, x.seed, op.Path)
		x.rt.log.Warn("loom: child not started", "execution", x.id, "child", op.Child, "err", l.failure.Message)
		x.m.CallAt(op, x.rt.node.latest().Add(wait))
	}
}

// refuseChild settles a child that is not started.
func (x *run) refuseChild(op *kernel.Op, why *event.Failure) {
	x.m.SettleChild(op, event.ChildSettled{Status: event.ChildRefused, Error: why})
	x.gather(false)
}

// giveWayChild does to a child what its policy says of a cancel.
func (x *run) giveWayChild(op *kernel.Op) {
	switch {
	case op.Started:
		x.cancelChild(op)
	case op.Call == nil:
		x.calls = append(x.calls, op) // beginCalls settles it, or finds out whether it was started
		x.m.CallAt(op, 0)
	}
}

// cancelChild asks a child to give way, until that is durable.
func (x *run) cancelChild(op *kernel.Op) {
	if op.OnCancel != "" {
		return
	}
	m := messageTo(op.Child, cancelMessage, x.id, x.seed, op.Path, []byte(`{"reason":"its parent was cancelled"}`))
	r, child := x.rt, op.Child
	r.loop("cancel child", func() {
		for wait := childRetry; ; wait = min(2*wait, maxChildRetry) {
			_, err := r.post(r.ctx, child, m)
			if err == nil || errors.Is(err, ErrEnded) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrClosed) || x.dead.Load() {
				return
			}
			r.log.Warn("loom: child not cancelled", "execution", x.id, "child", child, "err", fmt.Sprint(err))
			if r.sleep(wait) != nil {
				return
			}
		}
	})
}
