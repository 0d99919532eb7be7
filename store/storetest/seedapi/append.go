package seedapi

import (
	"context"
	"errors"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Append writes one envelope. token is the writer's, or store.NoFence: a writer
// without one is let in until the first token is acquired. The envelope at
// sequence 0 creates the execution, for nobody.
//
// Nothing was written if the error is a [*StaleFenceError], which is judged
// first, a [*DuplicateSequenceError], a [*DuplicateEnvelopeError] or a
// [*GapError]; a [*FailedError] says for itself.
func (l *Log) Append(ctx context.Context, e event.Envelope, token store.Fence) error {
	return l.AppendBatch(ctx, []event.Envelope{e}, token)
}

// AppendBatch writes consecutive envelopes of one execution, all or none. Errors
// are those of [Log.Append]; an empty batch is none.
func (l *Log) AppendBatch(ctx context.Context, es []event.Envelope, token store.Fence) error {
	if len(es) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := es[0].Execution
	var res store.Result
	for range tries {
		h, ok, err := l.s.Index.Get(ctx, id)
		if err != nil {
			return err
		}
		req := store.Request{Execution: id, Nonce: l.nonce(), Events: es, Expect: store.Absent()}
		if first := es[0].Sequence; first > 0 {
			req.As, req.Seen = h.Owner, h.Mail
			req.Expect = store.Tip{Head: first - 1, Fence: l.presented(id, token, h.Tip), Anchor: h.Tip.Anchor}
		} else {
			req.Index = &store.IndexEntry{Flow: flowOf(&es[0])}
			if now := l.before[id]; !ok && token != now && (token != store.NoFence || now > 0) {
				return &StaleFenceError{Execution: id, Token: token, Current: now}
			}
		}
		if res, err = l.commit(ctx, req); err != nil {
			return err
		}
		if res.Outcome == store.Committed {
			return nil
		}
		if err := l.conflict(&es[0], token, res); err != nil {
			return err
		}
		if !overtaken(res) {
			break
		}
	}
	return failed(id, res)
}

// presented returns the row's form of a writer's token. One that presents none
// passes for the holder of token 0, which the row has until its first claim.
func (l *Log) presented(id event.ExecutionID, token store.Fence, tip store.Tip) store.Fence {
	if token != store.NoFence {
		return token - l.before[id]
	}
	if l.current(id, tip) == 0 {
		return 0
	}
	return store.NoFence
}

// conflict is what a refusal meant in the older system, nil for nothing.
func (l *Log) conflict(first *event.Envelope, token store.Fence, res store.Result) error {
	if err := other(res); err != nil || res.Outcome != store.Refused {
		return err
	}
	id, seq, now := first.Execution, first.Sequence, l.current(first.Execution, res.Tip)
	stale := token != now && (token != store.NoFence || now > 0)
	switch {
	case seq == 0 && !stale && (res.Refusal == store.RefusedFence || res.Refusal == store.RefusedHead):
		return &DuplicateSequenceError{Execution: id, Sequence: seq}
	case seq == 0 && res.Refusal == store.RefusedHead, res.Refusal == store.RefusedFence:
		// a start carries no token to the store: whether it was stale is told by what is there
		return &StaleFenceError{Execution: id, Token: token, Current: now}
	case res.Refusal == store.RefusedHead && seq <= res.Tip.Head:
		return &DuplicateSequenceError{Execution: id, Sequence: seq}
	case res.Refusal == store.RefusedHead, res.Refusal == store.RefusedAbsent:
		return &GapError{Execution: id, Sequence: seq, Head: res.Tip.Head}
	}
	return nil
}

// other returns the conflict that a store names itself, nil for none.
func other(res store.Result) error {
	var envelope *DuplicateEnvelopeError
	if errors.As(res.Err, &envelope) {
		return envelope
	}
	return nil
}

// AppendIfUnchanged writes envelopes that follow expect if head, token and
// anchor are all as expected, and answers [Moved] if one is not. It needs no
// token of its own. An error is one that the store gave, or a [*FailedError]
// or [*DuplicateEnvelopeError]; the verdict is 0 then.
func (l *Log) AppendIfUnchanged(ctx context.Context, id event.ExecutionID, expect Tip, es ...event.Envelope) (Verdict, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var res store.Result
	for range tries {
		h, ok, err := l.s.Index.Get(ctx, id)
		if err != nil {
			return 0, err
		}
		req := store.Request{Execution: id, Nonce: l.nonce(), Expect: store.Absent(), Events: es}
		if expect.Head == event.None {
			req.Index = &store.IndexEntry{Flow: flowOf(&es[0])}
		} else {
			fence := expect.Fence - l.before[id]
			if expect.Fence == store.NoFence && l.before[id] == 0 {
				fence = 0
			}
			req.As, req.Seen = h.Owner, h.Mail
			req.Expect = store.Tip{Head: expect.Head, Fence: fence, Anchor: expect.Anchor}
		}
		if ok && expect.Head == event.None {
			return Moved, nil
		}
		if res, err = l.commit(ctx, req); err != nil {
			return 0, err
		}
		switch {
		case res.Outcome == store.Committed:
			return Appended, nil
		case other(res) != nil:
			return 0, other(res)
		case !overtaken(res):
			return 0, failed(id, res)
		case res.Refusal != store.RefusedOwner: // the owner is none of its conditions
			return Moved, nil
		}
	}
	return 0, failed(id, res)
}

// flowOf returns the flow that an event at sequence 0 names.
func flowOf(e *event.Envelope) string {
	if p, err := e.Decode(); err == nil {
		if started, ok := p.(event.ExecutionStarted); ok {
			return started.Flow
		}
	}
	return "unnamed"
}
