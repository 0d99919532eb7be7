package loom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// bootstrap makes sequence 0 durable before anything runs. mine is false if it is
// ours and somebody else drives it already. A refusal is confirmed before it is
// believed: it may describe another write than this one.
func (r *Runtime) bootstrap(ctx context.Context, j *kernel.Journal, env event.Envelope, release *store.Release) (mine bool, err error) {
	mine, err = r.tryBootstrap(ctx, j, env, release)
	var failed *StorageWriteError
	if errors.As(err, &failed) {
		r.storageError(env.Execution, err)
	}
	return mine, err
}

func (r *Runtime) tryBootstrap(ctx context.Context, j *kernel.Journal, env event.Envelope, release *store.Release) (mine bool, err error) {
	var first store.Result
	for try := 1; ; try++ {
		req, _ := j.Next(r.nonce(), release, store.StateKeep)
		req.Alone = try > 1
		res, err := r.sendStart(ctx, req)
		if err != nil {
			return false, err
		}
		switch j.Settle(res) {
		case kernel.Durable:
			return true, nil
		case kernel.Superseded:
			return false, nil // ours, known by its birth; somebody claimed it since
		case kernel.Conflict:
			if sabotage.On("second-start-runs") {
				return true, nil
			}
		default:
			return false, &StorageWriteError{ID: env.Execution, Err: refusalError(res), Definite: true}
		}
		if err := r.confirm(ctx, env, res); err != nil {
			return false, err
		}
		if try == 2 {
			return false, &StorageWriteError{ID: env.Execution, Err: startRefused(env.Execution, first, res), Definite: true}
		}
		first = res
	}
}

// leaselessTries is how often a runtime that holds no lease sends a start whose outcome
// it does not learn. It may ask: if the start was its own and somebody else has taken it
// over since, the store still knows.
const leaselessTries = 20

// sendStart sends a start until its outcome is known. A definite failure is tried
// three times; an unknown one is resolved by sending it again.
func (r *Runtime) sendStart(ctx context.Context, req *store.Request) (store.Result, error) {
	wait, definite, maybe := 2*time.Millisecond, 0, false
	for try := 1; ; try++ {
		res, err := r.commitOne(ctx, req)
		if err == nil && res.Outcome == store.Refused && res.Refusal != store.RefusedLease && maybe && !req.Alone {
			// It may be there already, and refused for another request's sake: by itself
			// it is known again.
			req.Alone = true
			continue
		}
		if err == nil && (res.Outcome == store.Committed || res.Outcome == store.Refused && res.Refusal != store.RefusedLease) {
			return res, nil
		}
		if err == nil {
			err = res.Err
		}
		if res.Refusal == store.RefusedLease {
			err = errors.Join(errNoLease, r.node.renew(ctx))
		}
		if res.Outcome != store.Unknown {
			definite++
		} else {
			definite, maybe = 0, !sabotage.On("definite-anyway") // it may have landed, whatever comes after
		}
		_, held := r.node.holds()
		if definite == 3 || ctx.Err() != nil || !held && try >= leaselessTries {
			return res, &StorageWriteError{ID: req.Execution, Err: errors.Join(err, context.Cause(ctx)), Definite: !maybe}
		}
		if r.waitFor(ctx, r.world.NewSignal(), wait) == nil {
			wait = min(2*wait, 250*time.Millisecond)
		}
	}
}

// confirm reads sequence 0 back through the same store. It returns nil if nothing is
// there, so that the refusal was somebody else's.
func (r *Runtime) confirm(ctx context.Context, env event.Envelope, res store.Result) error {
	if res.State.Closed() {
		// A log that is on its way out says nothing; and the state is that of the row
		// that was refused, which need not be this one.
		h, found, err := r.st.Index.Get(ctx, env.Execution)
		switch {
		case err != nil:
			return &StorageWriteError{ID: env.Execution, Err: errors.Join(err, context.Cause(ctx)), Definite: true}
		case !found:
			return nil
		case h.State.Closed():
			return fmt.Errorf("loom: start of %s: %w", env.Execution, ErrDeleting)
		}
		res.State = h.State
	}
	for e, err := range r.st.Log.Read(ctx, env.Execution, store.Range{Limit: 1, Strong: true}) {
		if err == nil && e.Sequence == 0 {
			return exists(env, e, res)
		}
		if err == nil {
			err = fmt.Errorf("reading back sequence 0 gave %s", e.ID())
		}
		return &StorageWriteError{ID: env.Execution, Err: errors.Join(err, context.Cause(ctx)), Definite: true}
	}
	return nil
}

// exists describes what a start met: its sequence 0, and the head row of the refusal.
func exists(env, there event.Envelope, res store.Result) error {
	out := &ExecutionAlreadyExistsError{ID: env.Execution, Status: statusOf(res.State)}
	if link := linkOf(there); link != nil {
		out.parent = link.String()
	}
	mine, _ := env.Decode()
	other, err := there.Decode()
	a, okA := mine.(event.ExecutionStarted)
	b, okB := other.(event.ExecutionStarted)
	if err == nil && okA && okB {
		out.Flow = b.Flow
		out.SameRequest = a.Flow == b.Flow && bytes.Equal(a.Input, b.Input)
	}
	return out
}

// startRefused is why a start was refused twice although nothing is there.
func startRefused(id event.ExecutionID, first, second store.Result) error {
	if first.Refusal == store.RefusedFence && second.Refusal == store.RefusedFence {
		return &StartFencedOutError{ID: id}
	}
	return refusalError(second)
}
