package loom

import (
	"context"
	"encoding/json"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// Flow is a named function whose executions survive a crash. Make one with
// [NewFlow], as a package variable.
type Flow[In, Out any] struct {
	name    string
	version string
	fn      func(Context, In) (Out, error)
}

// FlowOption changes what [NewFlow] makes: [FlowVersion].
type FlowOption func(*flowSpec)

type flowSpec struct{ version string }

// FlowVersion pins the executions of a flow to a version, [A-Za-z0-9_.:-]{1,64}: each is
// driven by exactly the version that it was started with, by whatever node has it, and
// left alone by all others. So a body that changes beyond what [Version] can express gets
// another version, and the old one stays registered beside it ([Flows] takes both) until
// its last execution has ended. A flow without the option is driven by any build that
// has the flow without it: no version is a version like any other.
func FlowVersion(version string) FlowOption {
	return func(s *flowSpec) { s.version = version }
}

// NewFlow returns the flow called name, [A-Za-z0-9_.:-]{1,64}; it panics with a
// [*NameError] on another name or version, because a flow is made when a program starts.
//
// fn must be deterministic: given the same input and the same results of its
// verbs it must call the same verbs in the same order. Everything else that it
// wants of the world goes through [Do].
func NewFlow[In, Out any](name string, fn func(ctx Context, in In) (Out, error), opts ...FlowOption) *Flow[In, Out] {
	if err := checkName("flow", name); err != nil {
		panic(err)
	}
	var s flowSpec
	for _, o := range opts {
		o(&s)
		if err := checkName("flow version", s.version); err != nil {
			panic(err)
		}
	}
	return &Flow[In, Out]{name: name, version: s.version, fn: fn}
}

// Name returns the flow's name.
func (f *Flow[In, Out]) Name() string { return f.name }

// Version returns the version of [FlowVersion], "" for none.
func (f *Flow[In, Out]) Version() string { return f.version }

// Start begins an execution of the flow with input in, in the version of f, whatever
// versions the runtime has.
//
// With [ID] the start is once for all: the execution is durable before its body
// runs, and a second start of the id is refused with an
// [*ExecutionAlreadyExistsError], at the cost of one refused write. Without it
// the id is minted and Start returns before anything is durable; no effect is
// called before it is, and [Run.Durable] waits for it.
//
// On a runtime that does not have the flow in its version the execution is written down for
// a node that does.
//
// Other errors: [*IDError], [*NameError], [*InputValidationError] and
// [*TooLargeError], before anything is written; [*StorageWriteError];
// [ErrDeleting]; [ErrClosed]; the cause of ctx's end, after which the execution
// may exist.
func (f *Flow[In, Out]) Start(ctx context.Context, r *Runtime, in In, opts ...StartOption) (*Run[Out], error) {
	input, err := encode("input of flow "+f.name, in, r.tune.MaxPayload)
	if err != nil {
		return nil, err
	}
	id, own, err := r.start(ctx, f.name, f.version, input, opts)
	if err != nil {
		return nil, err
	}
	return &Run[Out]{rt: r, id: id, own: own}, nil
}

// AnyFlow is a flow of any types: what [Flows] takes.
type AnyFlow interface {
	// Name returns the flow's name.
	Name() string
	// Version returns the flow's version, "" for none.
	Version() string
	run(b *branch, input json.RawMessage, limit int) kernel.End
	// takes returns an error if input is not an In.
	takes(input json.RawMessage) error
}

func (f *Flow[In, Out]) takes(input json.RawMessage) error {
	_, err := decode[In]("input of flow "+f.name, input)
	return err
}

// run runs the body and writes its end down.
func (f *Flow[In, Out]) run(b *branch, input json.RawMessage, limit int) kernel.End {
	in, err := decode[In]("input of flow "+f.name, input)
	if err != nil {
		return kernel.End{Failure: failureOf(err)}
	}
	out, err := f.fn(b, in)
	if again, ok := err.(*continued); ok { // not a cause of something else
		return kernel.End{Again: again.input}
	}
	if err != nil {
		return kernel.End{Failure: failureOf(err), GaveWay: gaveWay(err)}
	}
	raw, err := encode("result of flow "+f.name, out, limit)
	if err != nil {
		f := failureOf(err)
		if f.Code != event.CodeTooLarge {
			f.Code = event.CodeInvalidResult
		}
		return kernel.End{Failure: f}
	}
	return kernel.End{Result: raw}
}
