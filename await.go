package loom

import (
	"time"

	"github.com/loomwork/loom/internal/kernel"
)

// AwaitOption changes how [Await] waits: [Within].
type AwaitOption func(*await)

type await struct{ within time.Duration }

// Within gives an await up after d, with [ErrTimeout]. The limit is recorded and
// ends this await alone.
func Within(d time.Duration) AwaitOption { return func(a *await) { a.within = max(d, 0) } }

// Await waits for a message called name, sent with [Runtime.Signal], and returns
// its value. A message that came before anybody waited for it was kept. Each
// message is received once; two awaits of one name get theirs in the order in
// which they began.
//
// Errors: [ErrTimeout]; [ErrCancelled]; an [*InputValidationError] if the message is
// not a T, which is then used up; [*NameError]; [ErrUnloading], [*WrongBranchError],
// [*ForeignGoroutineError].
func Await[T any](ctx Context, name string, opts ...AwaitOption) (T, error) {
	var zero T
	b := ctx.branch()
	if err := checkName("message", name); err != nil {
		return zero, err
	}
	a := await{within: -1}
	for _, o := range opts {
		o(&a)
	}
	op, denied := b.k.Await(name, a.within)
	if denied != kernel.Allowed {
		return zero, b.denied(denied)
	}
	b.k.Wait(op)
	switch op.Ending {
	case kernel.GaveWay:
		return zero, ErrCancelled
	case kernel.Fired:
		return zero, ErrTimeout
	}
	return decode[T]("message "+name, op.Result)
}
