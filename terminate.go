package loom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// terminateMessage is the name of the message that ends an execution.
const terminateMessage = reserved + "terminate"

// Terminate ends an execution at once, whoever drives it and whatever its body does:
// the hard form of [Runtime.Cancel]. The body is not told, so nothing is cleaned up or
// compensated; the contexts of effects that run end, what they return is not recorded,
// and nobody waits for them. The execution is then terminated, with the reason in its
// error, which matches [ErrTerminated].
//
// It returns once that is durable, or the execution has ended in another way meanwhile.
// Errors: [ErrNotFound], [ErrEnded] if it had ended before, [ErrDeleting], [*IDError],
// an [*InputValidationError] or [*TooLargeError] for the reason, [ErrClosed]; a
// [*StorageWriteError], after which the execution ends all the same if a node drives it;
// the cause of ctx's end.
func (r *Runtime) Terminate(ctx context.Context, id, reason string) error {
	body, err := encode("reason", cancelBody{Reason: reason}, event.MaxMessageBytes)
	if err != nil {
		return err
	}
	m := store.Message{ID: r.mint(), Name: terminateMessage, Body: body}
	// A node that drives it ends it by this, however fast its log grows. Others look
	// after no execution that nobody owns and that is not due, so it is taken as well.
	rec, err := r.post(ctx, event.ExecutionID(id), m)
	if err != nil {
		return err
	}
	done, ok := r.begin(event.ExecutionID(id))
	if !ok {
		return ErrClosed
	}
	defer done()
	end := event.ExecutionTerminated{Message: m.ID, Reason: cut(reason)}
	wait := 2 * time.Millisecond
	for {
		over, err := r.takeAndEnd(ctx, event.ExecutionID(id), rec.N, end)
		if over || err != nil {
			return err
		}
		if err := r.waitFor(ctx, r.world.NewSignal(), wait); err != nil {
			return err
		}
		wait = min(2*wait, 100*time.Millisecond)
	}
}

// takeAndEnd takes an execution from whoever has it, and ends it, in one commit; false
// if it moved meanwhile.
func (r *Runtime) takeAndEnd(ctx context.Context, id event.ExecutionID, message int64, end event.ExecutionTerminated) (over bool, err error) {
	h, ok, err := r.st.Index.Get(ctx, id)
	if err != nil {
		return false, closed(err)
	}
	switch {
	case !ok:
		return false, fmt.Errorf("loom: execution %s: %w", id, ErrNotFound)
	case h.State.Terminal():
		return true, nil
	case h.State.Closed():
		return false, fmt.Errorf("loom: execution %s: %w", id, ErrDeleting)
	}
	var parent *parentLink
	seed := ""
	for e, err := range r.st.Log.Read(ctx, id, store.Range{Limit: 1, Strong: true}) {
		if err != nil {
			return false, closed(err)
		}
		if p, err := e.Decode(); err == nil {
			started, _ := p.(event.ExecutionStarted)
			parent, seed = linkOf(e), started.Seed
		}
	}
	req := &store.Request{Execution: id, Nonce: r.nonce(), Expect: h.Tip, Claim: &store.Claim{When: store.AnyOwner},
		State: store.StateTerminated, Seen: h.Mail, Consume: []int64{message}, Post: tellParent(parent, id, seed, endingOf(end))}
	if committed, err := r.note(ctx, h, req, end); !committed {
		return false, err
	}
	if x := r.liveRun(id); x != nil {
		x.send(letter{lost: true}) // it would find out with its next commit
		x.poke()
	}
	if parent != nil {
		r.hasMail(parent.Execution)
	}
	return true, nil
}

// sendOperators sends a request that no run stands behind until its outcome is known, a
// few times if the store fails.
func (r *Runtime) sendOperators(ctx context.Context, req *store.Request) (store.Result, error) {
	wait := 2 * time.Millisecond
	for try := 1; ; try++ {
		res, err := r.commitOne(ctx, req)
		if err == nil && (res.Outcome == store.Committed || res.Outcome == store.Refused) {
			return res, nil
		}
		if err == nil {
			err = res.Err
		}
		if try == 8 || ctx.Err() != nil {
			return res, &StorageWriteError{ID: req.Execution, Err: errors.Join(err, context.Cause(ctx))}
		}
		_ = r.waitFor(ctx, r.world.NewSignal(), wait)
		wait *= 3
	}
}

// terminate ends the run's execution because a message asks for it.
func (x *run) terminate(m store.Message) {
	var body cancelBody
	_ = json.Unmarshal(m.Body, &body) // a reason is for people; none is fine
	x.j.Consume(m.N, x.m.State().Head+1)
	x.m.Terminate(event.ExecutionTerminated{Message: m.ID, Reason: cut(body.Reason)})
}
