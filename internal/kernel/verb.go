package kernel

import (
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/rt"
)

// Denial says why a verb did nothing. The zero Denial is none.
type Denial uint8

// Denials.
const (
	Allowed     Denial = iota
	NoCancelled        // the branch was asked to give way
	NoUnloading        // the execution is being unloaded; a deferred function called
	NoForeign          // called from a goroutine that is no branch
	NoBranch           // called with the Context of another branch
	NoEnded            // the branch has ended
)

// Enter checks that the running goroutine is b's. Every verb begins with it.
func (b *Branch) Enter() Denial {
	// b.goroutine was written before the branch's function ran, so a goroutine that
	// the function started may read it; nothing else is touched before this check.
	if rt.Goroutine() != b.goroutine {
		d := notOwn()
		if d == NoBranch && b.done { // of this execution, so nothing else runs now
			return NoEnded
		}
		return d
	}
	switch {
	case b.m.unloading:
		return NoUnloading
	case b.m.cur != b && b.done:
		return NoEnded
	case b.m.cur != b:
		return NoBranch
	}
	return Allowed
}

// notOwn tells the goroutine of another branch from one that the user started, by the
// stack. Only a mistake has to wait for that.
func notOwn() Denial {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == branchRun {
				return NoBranch
			}
		}
		if n < len(pcs) {
			return NoForeign
		}
	}
}

// begin enters a verb that opens an operation called name, and returns its path. One
// that is denied by a cancel has still used its name up, so that what comes after has
// the same identity whether or not it was denied.
func (b *Branch) begin(name string) (path string, d Denial) {
	if d := b.Enter(); d != Allowed {
		return "", d
	}
	path = b.name(name)
	if b.Cancelled() {
		return "", NoCancelled
	}
	return path, Allowed
}

// Effect asks for an effect.
func (b *Branch) Effect(name string, e *Effect) (*Op, Denial) {
	path, d := b.begin(name)
	if d != Allowed {
		return nil, d
	}
	o := b.m.open(b, &Op{Path: path, Kind: fold.Effect, Effect: e})
	if !e.ReadOnly {
		b.m.ask(o, event.EffectScheduled{Op: path, Args: e.Args})
	}
	b.m.calls = append(b.m.calls, o)
	return o, Allowed
}

// Timer asks for a deadline d from now; with d < 0, at until.
func (b *Branch) Timer(name string, d time.Duration, until event.Time) (*Op, Denial) {
	path, denied := b.begin(name)
	if denied != Allowed {
		return nil, denied
	}
	o := b.m.open(b, &Op{Path: path, Kind: fold.Timer, after: deadline(d, until)})
	b.m.ask(o, event.TimerScheduled{Op: path})
	return o, Allowed
}

func deadline(d time.Duration, until event.Time) func(event.Time) event.Time {
	return func(now event.Time) event.Time {
		if d < 0 {
			return max(until, 1) // 0 would read as none
		}
		return now.Add(d)
	}
}

// Await asks for a message; with within >= 0 it gives up then.
func (b *Branch) Await(name string, within time.Duration) (*Op, Denial) {
	path, d := b.begin(name)
	if d != Allowed {
		return nil, d
	}
	o := &Op{Path: path, Kind: fold.Await, Name: name}
	if within >= 0 {
		o.after = deadline(within, 0)
	}
	b.m.open(b, o)
	b.m.ask(o, event.MessageAwaited{Op: path, Name: name})
	return o, Allowed
}

// Go begins a branch. Its function runs in this turn, after those that are ready
// already. A cancelled branch still begins one: its verbs give way at once.
func (b *Branch) Go(name string, fn func(*Branch)) (*Branch, Denial) {
	if d := b.Enter(); d != Allowed {
		return nil, d
	}
	c := b.m.newBranch(b, b.name(name), fn)
	c.cancelled, c.shielded = b.cancelled, b.shielded
	return c, Allowed
}

// Name uses up the next path of name in b, for what needs an identity and no
// event.
func (b *Branch) Name(name string) (string, Denial) {
	if d := b.Enter(); d != Allowed {
		return "", d
	}
	return b.name(name), Allowed
}

// Wait parks the branch until o, which it has just opened, has settled.
func (b *Branch) Wait(o *Op) {
	for o.Ending == Open {
		o.wakes(b)
		b.park()
	}
}

// wakes makes whatever happens to o next wake b.
func (o *Op) wakes(b *Branch) {
	if o.waiter == nil || o.waiter == b {
		o.waiter = b
	} else if !slices.Contains(o.waiters, b) {
		o.waiters = append(o.waiters, b)
	}
}

// WaitAny parks the branch until one of others has ended, and returns which ended
// first.
func (b *Branch) WaitAny(others ...*Branch) (first *Branch, d Denial) {
	if d := b.Enter(); d != Allowed {
		return nil, d
	}
	for {
		for _, o := range others {
			if o.done && (first == nil || o.ended < first.ended) {
				first = o
			}
		}
		if first != nil {
			return first, Allowed
		}
		for _, o := range others {
			o.waiters = append(o.waiters, b)
		}
		b.park()
		for _, o := range others { // those that go on keep nothing of this wait
			o.waiters = slices.DeleteFunc(o.waiters, func(w *Branch) bool { return w == b })
		}
	}
}

// Cancel asks a branch and those it began to give way.
func (b *Branch) Cancel(other *Branch) Denial {
	if d := b.Enter(); d != Allowed {
		return d
	}
	b.m.cancelBranch(other)
	return Allowed
}

func frameText(f runtime.Frame) string { return f.Function + ":" + strconv.Itoa(f.Line) }
