package fault

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// log implements store.Log.
type log struct {
	in store.Log
	i  *Injector
}

// Commit implements store.Log. Each request has a fault of its own, except that
// a delay of one delays the call. A request that is lost or fails is not sent;
// the others travel together.
func (l log) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	l.i.point(Commit, false)
	out, err := l.commit(ctx, reqs)
	l.i.point(Commit, true)
	return out, err
}

func (l log) commit(ctx context.Context, reqs []store.Request) ([]store.Result, error) {
	if ctx.Err() != nil {
		return l.in.Commit(ctx, reqs...)
	}
	faults := make([]Fault, len(reqs))
	down := false
	var slow, late time.Duration
	for n := range reqs {
		faults[n], down = l.i.fault(&Call{Op: Commit, Execution: reqs[n].Execution, Request: &reqs[n]})
		switch faults[n].Act {
		case Slow:
			slow = max(slow, faults[n].Delay)
		case Late:
			late = max(late, faults[n].Delay)
		}
	}
	if late > 0 {
		return l.late(ctx, late, reqs, faults)
	}
	if slow > 0 {
		// The request is still with the caller: if its wait ends, nothing was sent.
		if err := l.i.opts.Sleep(ctx, slow); err != nil {
			return nil, err
		}
	}
	return l.send(ctx, reqs, faults, down)
}

func (l log) send(ctx context.Context, reqs []store.Request, faults []Fault, down bool) ([]store.Result, error) {
	out := make([]store.Result, len(reqs))
	var sent []store.Request
	var at []int
	for n, f := range faults {
		switch f.Act {
		case Fail:
			out[n] = store.Result{Outcome: store.Failed, Err: &Error{Op: Commit, Act: f.Act, Down: down}}
		case LoseRequest:
			out[n] = store.Result{Outcome: store.Unknown, Err: &Error{Op: Commit, Act: f.Act, Unknown: true, Down: down}}
		default:
			sent, at = append(sent, reqs[n]), append(at, n)
		}
	}
	if len(sent) == 0 {
		return out, nil
	}
	got, err := l.in.Commit(ctx, sent...)
	if err != nil {
		if len(sent) == len(reqs) {
			return nil, err
		}
		got = make([]store.Result, len(sent))
		for k := range got {
			got[k] = store.Result{Outcome: store.Failed, Err: err}
		}
	}
	for k, n := range at {
		out[n] = got[k]
		if faults[n].Act == LoseReply {
			out[n] = store.Result{Outcome: store.Unknown, Err: &Error{Op: Commit, Act: LoseReply, Unknown: true}}
		}
	}
	return out, nil
}

// late sends the requests after d, beside the caller, who waits as long as its
// context lets it.
func (l log) late(ctx context.Context, d time.Duration, reqs []store.Request, faults []Fault) ([]store.Result, error) {
	type answer struct {
		res []store.Result
		err error
	}
	var came atomic.Pointer[answer]
	l.i.opts.Spawn(func() {
		_ = l.i.opts.Sleep(context.WithoutCancel(ctx), d)
		res, err := l.send(context.WithoutCancel(ctx), reqs, faults, false)
		came.Store(&answer{res, err})
	})
	// The reply is on its way for a while too. It is asked for, not waited for, so
	// that a simulator has to lend nothing but Sleep.
	wait := d + d/16 + time.Microsecond
	for {
		if cause := l.i.opts.Sleep(ctx, wait); cause != nil {
			out := make([]store.Result, len(reqs))
			for n := range out {
				out[n] = store.Result{Outcome: store.Unknown, Err: cause}
			}
			return out, nil
		}
		if a := came.Load(); a != nil {
			return a.res, a.err
		}
		wait = d/16 + time.Microsecond
	}
}

// Read implements store.Log. A read that fails does so before its first event,
// or behind some of them.
func (l log) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		l.i.point(Read, false) // here, not above: the call is made when it is iterated
		c := &Call{Op: Read, Execution: id}
		f, down := l.i.fault(c)
		broken := f.Act == Fail || f.Act == LoseRequest
		if f.Act == Slow {
			if err := l.i.opts.Sleep(ctx, f.Delay); err != nil {
				l.i.point(Read, true)
				yield(event.Envelope{}, err)
				return
			}
		}
		events := l.in.Read(ctx, id, r)
		if broken {
			events = func(func(event.Envelope, error) bool) {}
			if !down {
				events = l.some(l.in.Read(ctx, id, r))
			}
		}
		if l.i.opts.Point != nil {
			events = gather(events)
		}
		l.i.point(Read, true)
		for e, err := range events {
			if !yield(e, err) || err != nil {
				return
			}
		}
		if broken {
			yield(event.Envelope{}, &Error{Op: Read, Act: f.Act, Down: down})
		}
	}
}

// some yields a few of the events.
func (l log) some(in iter.Seq2[event.Envelope, error]) iter.Seq2[event.Envelope, error] {
	l.i.mu.Lock()
	left := l.i.choose("fault.read", 4)
	l.i.mu.Unlock()
	return func(yield func(event.Envelope, error) bool) {
		if left == 0 {
			return
		}
		for e, err := range in {
			left--
			if !yield(e, err) || left == 0 {
				return
			}
		}
	}
}

// gather reads everything now.
func gather(in iter.Seq2[event.Envelope, error]) iter.Seq2[event.Envelope, error] {
	var events []event.Envelope
	var last error
	for e, err := range in {
		if err != nil {
			last = err
			break
		}
		events = append(events, e)
	}
	return func(yield func(event.Envelope, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if last != nil {
			yield(event.Envelope{}, last)
		}
	}
}

// Tip implements store.Log.
func (l log) Tip(ctx context.Context, id event.ExecutionID) (tip store.Tip, err error) {
	err = l.i.around(ctx, &Call{Op: Tip, Execution: id}, func() error {
		tip, err = l.in.Tip(ctx, id)
		return err
	})
	return tip, err
}
