package schedule

import (
	"context"
	"errors"
	"iter"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/internal/composed"
)

// Start starts the execution of an occurrence, unless there is one, and reports whether
// it was this call that did. That it was not is no error: of all who start an occurrence,
// on whatever node, one is told so, and the execution is durable by then.
//
// It looks first, so that an occurrence that is visibly there costs one read and no
// write. That only saves a write: what keeps the occurrence single is the start itself.
//
// rt drives the execution if it has the flow, and leaves it to a node that does if not;
// to name the flow of another program, make one with its name and input type. opts as for
// [loom.Flow.Start], an id among them being ignored. in is of no account when the
// execution is there already.
//
// Errors: an [*OccurrenceError]; those of [loom.Flow.Start], without the one that says
// that the id exists. After a [*loom.StorageWriteError] that is not definite, and after
// ctx's end, the execution may have been started; calling Start again settles that.
func Start[In, Out any](ctx context.Context, rt *loom.Runtime, o Occurrence, flow *loom.Flow[In, Out], in In, opts ...loom.StartOption) (started bool, err error) {
	id, err := o.ID()
	if err != nil {
		return false, err
	}
	if _, err := rt.Summary(ctx, string(id)); err == nil {
		return false, nil
	} // not there, or not to be seen: the start knows
	opts = append(opts[:len(opts):len(opts)], loom.Composed(composed.New(id)))
	_, err = flow.Start(ctx, rt, in, opts...)
	var there *loom.ExecutionAlreadyExistsError
	if errors.As(err, &there) {
		return false, nil
	}
	return err == nil, err
}

// Each starts occurrences one after the other, as [Start] does, and returns how many of
// them it was this call that started. input makes the input of each. An occurrence that
// cannot be started is told to onError, once, and does not keep those after it from being
// started; one that somebody else has started is not told.
//
// The error is what ended it early: the cause of ctx's end, or [loom.ErrClosed].
func Each[In, Out any](ctx context.Context, rt *loom.Runtime, all iter.Seq[Occurrence], flow *loom.Flow[In, Out], input func(Occurrence) In, onError func(Occurrence, error)) (n int, err error) {
	for o := range all {
		started, err := Start(ctx, rt, o, flow, input(o))
		switch {
		case started:
			n++
		case err == nil:
		case ctx.Err() != nil:
			return n, context.Cause(ctx)
		case errors.Is(err, loom.ErrClosed):
			return n, err
		default:
			onError(o, err)
		}
	}
	return n, nil
}
