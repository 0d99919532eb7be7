package loom

import (
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// Sleep waits for d, across crashes and restarts, and never less. A long sleep
// holds no memory: the body is unloaded and woken by its recorded deadline. d ≤ 0
// is a recorded wait that ends at once.
//
// Errors: [ErrCancelled]; [*NameError]; [ErrUnloading], [*WrongBranchError],
// [*ForeignGoroutineError].
func Sleep(ctx Context, name string, d time.Duration) error {
	return sleep(ctx, name, max(d, 0), 0)
}

// SleepUntil waits until the instant at, by the store's clock; otherwise it is
// [Sleep].
func SleepUntil(ctx Context, name string, at time.Time) error {
	return sleep(ctx, name, -1, event.At(at.Add(time.Microsecond-1)))
}

func sleep(ctx Context, name string, d time.Duration, until event.Time) error {
	b := ctx.branch()
	if err := checkName("timer", name); err != nil {
		return err
	}
	op, denied := b.k.Timer(name, d, until)
	if denied != kernel.Allowed {
		return b.denied(denied)
	}
	b.k.Wait(op)
	if op.Ending == kernel.GaveWay {
		return ErrCancelled
	}
	return nil
}
