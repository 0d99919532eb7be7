package seedapi

import (
	"context"
	"iter"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Log is a store seen through the older operations. It needs the parts Log and
// Index, and Deleter for [Log.Delete]. Its methods may be called from any
// goroutine; one runs at a time.
//
// A token of a Log counts the acquisitions of an execution id, from 1. Where the
// execution exists they are claims on its head row. A store of Loom gives no
// token for an id without an execution, as the older system did: those are kept
// here, and the row's own token counts on from them.
type Log struct {
	s     store.Store
	nonce func() store.Nonce

	mu     sync.Mutex
	before map[event.ExecutionID]store.Fence // tokens acquired while nothing existed
}

// New returns the operations over s. nonce returns one that no other call
// returns.
func New(s store.Store, nonce func() store.Nonce) *Log {
	return &Log{s: s, nonce: nonce, before: map[event.ExecutionID]store.Fence{}}
}

// Tip is what [Log.AppendIfUnchanged] compares.
type Tip struct {
	Head event.Seq // event.None for what does not exist
	// Fence is the newest token, store.NoFence while none was acquired: an
	// execution without a token is not one with token 0.
	Fence  store.Fence
	Anchor store.Anchor
}

// Verdict is the answer of a conditional append.
type Verdict uint8

// Verdicts. The zero Verdict comes with an error.
const (
	Appended Verdict = iota + 1
	Moved            // nothing was written: head, token or incarnation is another
)

// tries is how often an operation looks again that somebody else overtook
// between its look and its write.
const tries = 64

// LoadTip returns the tip of id, as a strong read.
func (l *Log) LoadTip(ctx context.Context, id event.ExecutionID) (Tip, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tip, err := l.s.Log.Tip(ctx, id)
	if err != nil {
		return Tip{}, err
	}
	return Tip{Head: tip.Head, Fence: l.shown(id, tip), Anchor: tip.Anchor}, nil
}

// current returns the newest token, 0 while none was acquired.
func (l *Log) current(id event.ExecutionID, tip store.Tip) store.Fence {
	return l.before[id] + max(tip.Fence, 0)
}

// shown returns the newest token, store.NoFence while none was acquired.
func (l *Log) shown(id event.ExecutionID, tip store.Tip) store.Fence {
	if f := l.current(id, tip); f > 0 {
		return f
	}
	return store.NoFence
}

// AcquireFence takes the next token of id, whoever holds the last one and
// whether or not the execution exists.
func (l *Log) AcquireFence(ctx context.Context, id event.ExecutionID) (store.Fence, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var res store.Result
	for range tries {
		h, ok, err := l.s.Index.Get(ctx, id)
		if err != nil {
			return 0, err
		}
		if !ok {
			l.before[id]++
			return l.before[id], nil
		}
		if res, err = l.commit(ctx, l.claim(h, store.StateKeep)); err != nil {
			return 0, err
		}
		if res.Outcome == store.Committed {
			return l.current(id, res.Tip), nil
		}
		if !overtaken(res) {
			break
		}
	}
	return 0, failed(id, res)
}

// claim returns a request that takes the token of an execution for nobody.
func (l *Log) claim(h store.Head, state store.State) store.Request {
	return store.Request{Execution: h.Execution, Nonce: l.nonce(), Expect: h.Tip, Seen: h.Mail,
		Claim: &store.Claim{When: store.AnyOwner}, State: state}
}

// overtaken reports whether a request may succeed if it is made again from a
// new look.
func overtaken(res store.Result) bool {
	switch res.Refusal {
	case store.RefusedAbsent, store.RefusedAnchor, store.RefusedFence, store.RefusedHead, store.RefusedOwner:
		return res.Outcome == store.Refused
	}
	return false
}

func failed(id event.ExecutionID, res store.Result) error {
	return &FailedError{Execution: id, Outcome: res.Outcome, Refusal: res.Refusal, Err: res.Err}
}

func (l *Log) commit(ctx context.Context, req store.Request) (store.Result, error) {
	res, err := l.s.Log.Commit(ctx, req)
	if err != nil {
		return store.Result{}, err
	}
	return res[0], nil
}

// ReadFrom yields the events of id from a sequence on, as a strong read.
func (l *Log) ReadFrom(ctx context.Context, id event.ExecutionID, from event.Seq) iter.Seq2[event.Envelope, error] {
	return l.s.Log.Read(ctx, id, store.Range{From: from, Strong: true})
}

// ReadRange yields the events of id from one sequence to another, both included,
// as a strong read.
func (l *Log) ReadRange(ctx context.Context, id event.ExecutionID, from, to event.Seq) iter.Seq2[event.Envelope, error] {
	if to < from {
		return func(func(event.Envelope, error) bool) {}
	}
	return l.s.Log.Read(ctx, id, store.Range{From: from, Limit: int(to-from) + 1, Strong: true})
}

// Delete removes an execution with its tokens, whoever owns it. What does not
// exist is no error.
func (l *Log) Delete(ctx context.Context, id event.ExecutionID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var res store.Result
	for range tries {
		h, ok, err := l.s.Index.Get(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			delete(l.before, id)
			return nil
		}
		if res, err = l.commit(ctx, l.claim(h, store.StateDeleting)); err != nil {
			return err
		}
		for done := false; res.Outcome == store.Committed && !done; {
			if done, err = l.s.Deleter.Delete(ctx, id, res.Tip); err != nil {
				return err
			}
		}
		if res.Outcome != store.Committed && !overtaken(res) {
			break
		}
	}
	return failed(id, res)
}
