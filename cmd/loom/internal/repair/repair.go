// Package repair does what an operator does to executions that no node goes on with:
// it finds them, and releases them, so that workers pick them up.
//
// An execution is abandoned if its owner's lease is over; a worker that knows its
// flow takes it over by itself, a few seconds later each time it happens in a row. It
// is stuck after [store.MaxStrikes] times without progress: then only an operator
// takes it. The operator never drives anything: every act here ends with nobody as
// the owner and a wake-up now.
package repair

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Why is why an execution is on the list.
type Why string

// Reasons.
const (
	Abandoned Why = "abandoned"
	Stuck     Why = "stuck"
	// Driven and Parked are no reasons: a node that lives has it, or nobody needs to.
	Driven Why = "driven"
	Parked Why = "parked"
)

// Case is an execution and what is the matter with it.
type Case struct {
	Head store.Head
	Why  Why
}

// Ward is a store with the verdict on its nodes.
type Ward struct {
	st    store.Store
	alive map[store.NodeID]bool
}

// Open asks who is alive.
func Open(ctx context.Context, st store.Store) (*Ward, error) {
	w := &Ward{st: st, alive: map[store.NodeID]bool{}}
	nodes, err := st.Leaser.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		w.alive[n.Node] = n.Alive
	}
	return w, nil
}

// Judge says what is the matter with an execution that has not ended.
func (w *Ward) Judge(h store.Head) Why {
	switch {
	case h.Owner != "" && w.alive[h.Owner]:
		return Driven
	case h.Strikes >= store.MaxStrikes:
		return Stuck
	case h.Owner != "":
		return Abandoned
	}
	return Parked
}

// Cases returns all executions that are abandoned or stuck, newest first.
func (w *Ward) Cases(ctx context.Context) (cases []Case, err error) {
	q := store.Query{States: []store.State{store.StateRunning}, Limit: 1000}
	for {
		heads, next, err := w.st.Index.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			if why := w.Judge(h); why == Abandoned || why == Stuck {
				cases = append(cases, Case{h, why})
			}
		}
		if next == "" {
			return cases, nil
		}
		q.After = next
	}
}

// ErrMoved: somebody else was faster, which is as good as a rule: look again.
var ErrMoved = errors.New("the execution moved meanwhile")

// Release takes an execution from its dead owner and gives it to nobody, due now. The
// store judges the owner again in the same transaction. The error is [ErrMoved] or the
// store's.
func (w *Ward) Release(ctx context.Context, h store.Head) error {
	_, err := w.commit(ctx, store.Request{Execution: h.Execution, Expect: h.Tip,
		Claim: &store.Claim{When: store.Lapsed}, Release: &store.Release{}})
	return err
}

// Act is what was done by [Ward.Recover].
type Act struct {
	TakenFrom store.NodeID // "" if nobody owned it
	WasAlive  bool         // the owner
	Token     store.Fence  // after the claim
	Strikes   int          // before; they are 0 now if Noted
	Noted     bool         // the intervention is in the log
	// Picked says that a node took the execution between two steps of this.
	Picked bool
}

// Recover takes an execution from whoever owns it, gives it to nobody, due now, and
// writes down in its log that an operator did so, which sets the strikes to 0 and
// makes nodes that had given up on it look again. force is needed if the owner is
// alive. The error is [ErrMoved] or the store's.
func (w *Ward) Recover(ctx context.Context, h store.Head, force bool) (Act, error) {
	a := Act{TakenFrom: h.Owner, WasAlive: w.alive[h.Owner], Strikes: h.Strikes, Token: h.Tip.Fence}
	tip, now := h.Tip, h.Updated
	if h.Owner != "" {
		when := store.Lapsed
		if force {
			when = store.AnyOwner
		}
		res, err := w.commit(ctx, store.Request{Execution: h.Execution, Expect: tip,
			Claim: &store.Claim{When: when}, Release: &store.Release{}})
		if err != nil {
			return a, err
		}
		tip, now, a.Token = res.Tip, res.Now, res.Tip.Fence
	}
	note, err := w.note(ctx, h, tip, now)
	if err != nil {
		return a, err
	}
	_, err = w.commit(ctx, store.Request{Execution: h.Execution, Expect: tip, Events: []event.Envelope{note}, Release: &store.Release{}})
	switch {
	case errors.Is(err, ErrMoved) && h.Owner != "":
		a.Picked = true // it was free for a moment, and that was enough
		return a, nil
	case err != nil:
		return a, err
	}
	a.Noted = true
	return a, nil
}

// note returns the event that follows tip.
func (w *Ward) note(ctx context.Context, h store.Head, tip store.Tip, now event.Time) (event.Envelope, error) {
	at := now
	for e, err := range w.st.Log.Read(ctx, h.Execution, store.Range{From: tip.Head, Limit: 1, Strong: true}) {
		if err != nil {
			return event.Envelope{}, err
		}
		at = max(at, e.Time) // times of a log never go back
	}
	note := event.OperatorRecovered{By: "loom recover", Strikes: h.Strikes, TakenFrom: string(h.Owner)}
	var meta []byte
	if tip.Fence > 0 {
		meta = event.EncodeMeta(map[string]string{event.MetaFence: fmt.Sprint(int64(tip.Fence))})
	}
	return event.New(h.Execution, tip.Head+1, at, note, meta), nil
}

// commit sends one request, once more if its outcome is unknown.
func (w *Ward) commit(ctx context.Context, req store.Request) (store.Result, error) {
	_, _ = rand.Read(req.Nonce[:]) // never fails, says its documentation
	for try := 1; ; try++ {
		all, err := w.st.Log.Commit(ctx, req)
		if err != nil {
			return store.Result{}, err
		}
		switch res := all[0]; {
		case res.Outcome == store.Committed:
			return res, nil
		case res.Outcome == store.Refused && res.Err == nil:
			return res, fmt.Errorf("%w: %s", ErrMoved, res.Refusal)
		case res.Outcome == store.Unknown && try < 4 && ctx.Err() == nil:
		default:
			return res, res.Err
		}
	}
}
