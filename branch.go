package loom

import (
	"errors"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// Future is the value of a branch that [Go] began.
type Future[T any] struct {
	k      *kernel.Branch
	denied error // the branch could not begin
	value  T
	err    error
}

// Go runs fn as another branch of the body, beside this one. Exactly one branch of
// an execution runs at a time, and control passes only inside verbs, so branches
// may share variables without locks. fn must use the Context that it is given.
//
// A branch that is still open when the body returns is cancelled, and waited for.
func Go[T any](ctx Context, name string, fn func(ctx Context) (T, error)) *Future[T] {
	b := ctx.branch()
	f := &Future[T]{}
	if f.denied = checkName("branch", name); f.denied != nil {
		return f
	}
	k, d := b.k.Go(name, func(k *kernel.Branch) {
		f.value, f.err = fn(&branch{Context: b.Context, k: k, run: b.run})
	})
	f.k, f.denied = k, b.denied(d)
	return f
}

// Get waits for the branch to end and returns what it returned; a panic in it is a
// [*PanicError]. Other errors: those of [Go]'s name, [ErrUnloading],
// [*WrongBranchError], [*ForeignGoroutineError].
func (f *Future[T]) Get(ctx Context) (T, error) {
	if f.denied == nil {
		b := ctx.branch()
		if _, d := b.k.WaitAny(f.k); d != kernel.Allowed {
			var zero T
			return zero, b.denied(d)
		}
	}
	return f.outcome()
}

// Cancel asks the branch to give way: what it waits for returns [ErrCancelled], the
// context of a running effect ends, and the effect is waited for.
func (f *Future[T]) Cancel(ctx Context) error {
	b := ctx.branch()
	if f.denied != nil {
		return f.denied
	}
	return b.denied(b.k.Cancel(f.k))
}

// Done reports whether the branch has ended.
func (f *Future[T]) Done() bool { return f.denied != nil || f.k.Done() }

func (f *Future[T]) outcome() (T, error) {
	var zero T
	switch {
	case f.denied != nil:
		return zero, f.denied
	case f.k.Panic != nil:
		return zero, panicError(f.k.Panic)
	case f.k.Exited:
		return zero, Code(event.CodeExited)
	}
	return f.value, f.err
}

// All waits for all branches and returns their values in the order of futures. The
// error joins those of all that failed, in that order; the values of the others are
// there all the same.
func All[T any](ctx Context, futures ...*Future[T]) ([]T, error) {
	values := make([]T, len(futures))
	var errs []error
	for i, f := range futures {
		v, err := f.Get(ctx)
		values[i] = v
		if err != nil {
			errs = append(errs, err)
		}
	}
	return values, errors.Join(errs...)
}

// First waits until one of the branches has ended and returns its place among
// futures, with the error that it ended with. The others go on; [Future.Cancel]
// asks them to give way. It returns -1 for no futures, and with the errors of a verb
// that is denied.
func First[T any](ctx Context, futures ...*Future[T]) (int, error) {
	b := ctx.branch()
	ks := make([]*kernel.Branch, 0, len(futures))
	for i, f := range futures {
		if f.denied != nil {
			return i, f.denied
		}
		ks = append(ks, f.k)
	}
	if len(ks) == 0 {
		return -1, errors.New("loom: First of no futures")
	}
	k, d := b.k.WaitAny(ks...)
	if d != kernel.Allowed {
		return -1, b.denied(d)
	}
	for i, f := range futures {
		if f.k == k {
			_, err := f.outcome()
			return i, err
		}
	}
	return -1, nil
}
