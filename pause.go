package loom

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// pauseMessage is the name of the message that asks who drives an execution to pause it.
const pauseMessage = reserved + "pause"

// pauseBody is what a pause message holds.
type pauseBody struct {
	By     store.NodeID `json:"by"`
	Reason string       `json:"reason,omitempty"`
}

// Pause halts an execution until [Runtime.Resume]; reason is for people. A step that is
// being called is waited for, and what comes of it is recorded; no other one is called, no
// timer fires, no message is received, not even a retry or the execution's deadline comes.
// Then nobody drives the execution, and nothing wakes it. What comes meanwhile waits: a
// message, a child's end, a [Runtime.Cancel] too, whose cleanup would be steps.
// [Runtime.Terminate] ends a paused execution at once.
//
// It returns once the execution is paused, whoever paused it. If ctx ends before, because
// a step takes its time, say, the request stays and takes hold when it can. Errors:
// [ErrNotFound]; [ErrEnded] if it has ended, or ends before it can be paused;
// [ErrDeleting], [*IDError], an [*InputValidationError] or [*TooLargeError] for the reason,
// [ErrClosed]; a [*StorageWriteError]; the cause of ctx's end.
func (r *Runtime) Pause(ctx context.Context, id, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	body, err := json.Marshal(pauseBody{By: r.node.id, Reason: reason})
	if err != nil {
		return err
	}
	x := event.ExecutionID(id)
	if err := x.Validate(); err != nil {
		return err
	}
	if err := r.awaitBirth(ctx, x); err != nil {
		return err
	}
	changed := r.watch(x)
	defer r.unwatch(x, changed)
	m := store.Message{ID: r.mint(), Name: pauseMessage, Body: body}
	for {
		over, err := r.tryPause(ctx, x, m, reason)
		if over || err != nil {
			return err
		}
		if m.N == 0 {
			rec, err := r.post(ctx, x, m)
			if err != nil {
				return err
			}
			m.N = rec.N
		}
		if err := r.waitFor(ctx, changed, r.poll()); err != nil {
			return err
		}
	}
}

// tryPause pauses an execution that nobody drives; false if somebody does, or it moved.
// m is the message that asks for it, numbered if it was posted.
func (r *Runtime) tryPause(ctx context.Context, id event.ExecutionID, m store.Message, reason string) (over bool, err error) {
	h, done, err := r.operate(ctx, id)
	if err != nil {
		return false, err
	}
	defer done()
	if h.State == store.StatePaused {
		return true, nil
	}
	req := &store.Request{Execution: id, Nonce: r.nonce(), Expect: h.Tip, Release: &store.Release{WakeAt: h.WakeAt}, State: store.StatePaused}
	if h.Owner != "" {
		nodes, err := r.st.Leaser.Nodes(ctx)
		if err != nil {
			return false, closed(err)
		}
		for _, n := range nodes {
			if n.Node == h.Owner && n.Alive {
				return false, nil // it will, once its steps have settled
			}
		}
		// Its steps may have been called: the wake-up says so to who comes next.
		req.Claim, req.Release.WakeAt = &store.Claim{When: store.Lapsed}, 0
	}
	paused := event.ExecutionPaused{By: string(r.node.id), Reason: reason}
	if m.N > 0 {
		paused.Message, req.Consume = m.ID, []int64{m.N}
	}
	return r.note(ctx, h, req, paused)
}

// Resume lets a paused execution go on; reason is for people. What was due meanwhile is
// due now, and messages that came are received.
//
// It returns once that is durable. Errors: [ErrNotPaused], also while a pause was asked
// for and has not taken hold; [ErrNotFound], [ErrEnded], [ErrDeleting], [*IDError], an
// [*InputValidationError] or [*TooLargeError] for the reason, [ErrClosed]; a
// [*StorageWriteError]; the cause of ctx's end.
func (r *Runtime) Resume(ctx context.Context, id, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	x := event.ExecutionID(id)
	if err := x.Validate(); err != nil {
		return err
	}
	for {
		over, err := r.tryResume(ctx, x, reason)
		if over {
			r.scan.Wake()
		}
		if over || err != nil {
			return err
		}
	}
}

func (r *Runtime) tryResume(ctx context.Context, id event.ExecutionID, reason string) (over bool, err error) {
	h, done, err := r.operate(ctx, id)
	if err != nil {
		return false, err
	}
	defer done()
	if h.State != store.StatePaused {
		return false, fmt.Errorf("loom: execution %s: %w", id, ErrNotPaused)
	}
	wake := h.WakeAt
	if wake > 0 { // 0 says that a step may have been called, and must go on saying it
		wake = max(min(wake, r.node.now()), 1)
	}
	req := &store.Request{Execution: id, Nonce: r.nonce(), Expect: h.Tip, Release: &store.Release{WakeAt: wake}, State: store.StateRunning}
	// Others may have asked for the pause that is over now.
	for after := int64(0); ; {
		ms, _, err := r.st.Inbox.Pending(ctx, id, after, mailPage)
		if err != nil {
			return false, closed(err)
		}
		for _, m := range ms {
			after = m.N
			if m.Name == pauseMessage {
				req.Consume = append(req.Consume, m.N)
			}
		}
		if len(ms) < mailPage {
			break
		}
	}
	return r.note(ctx, h, req, event.ExecutionResumed{By: string(r.node.id), Reason: reason})
}

func checkReason(reason string) error {
	_, err := encode("reason", reason, event.MaxMessageBytes)
	return err
}

// operate begins an operator's act on an execution that has not ended; the caller calls
// done after it.
func (r *Runtime) operate(ctx context.Context, id event.ExecutionID) (h store.Head, done func(), err error) {
	if err := ctx.Err(); err != nil {
		return h, nil, context.Cause(ctx)
	}
	done, ok := r.begin(id)
	if !ok {
		return h, nil, ErrClosed
	}
	h, ok, err = r.st.Index.Get(ctx, id)
	switch {
	case err != nil:
		err = closed(err)
	case !ok:
		err = fmt.Errorf("loom: execution %s: %w", id, ErrNotFound)
	case h.State.Terminal():
		err = fmt.Errorf("loom: execution %s: %w", id, ErrEnded)
	case h.State.Closed():
		err = fmt.Errorf("loom: execution %s: %w", id, ErrDeleting)
	}
	if err != nil {
		done()
		return h, nil, err
	}
	return h, done, nil
}

// note sends an operator's request with p as the next event; false if the execution moved
// meanwhile.
func (r *Runtime) note(ctx context.Context, h store.Head, req *store.Request, p event.Payload) (committed bool, err error) {
	at := r.node.now()
	for e, err := range r.st.Log.Read(ctx, h.Execution, store.Range{From: h.Tip.Head, Limit: 1, Strong: true}) {
		if err != nil {
			return false, closed(err)
		}
		at = max(at, e.Time) // times of a log never go back
	}
	fence := h.Tip.Fence
	if req.Claim != nil {
		fence++
	}
	req.Events = []event.Envelope{event.New(h.Execution, h.Tip.Head+1, at, p, fenceMeta(fence))}
	res, err := r.sendOperators(ctx, req)
	if err != nil || res.Outcome != store.Committed {
		return false, err
	}
	r.tell(h.Execution)
	return true, nil
}

// pause halts the run's execution because a message asks for it: everything that was
// called has settled.
func (x *run) pause() {
	var body pauseBody
	_ = json.Unmarshal(x.pausing.Body, &body) // it was written above
	x.j.Consume(x.pausing.N, x.m.State().Head+1)
	x.m.Pause(event.ExecutionPaused{By: cmp.Or(string(body.By), "?"), Message: x.pausing.ID, Reason: body.Reason})
	x.gather(false)
	at := x.dueAt()
	if x.m.Doubtful() {
		at = 0
	}
	x.letGoAs(at, store.StatePaused)
}
