package loom

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
)

// Progress records, in the effect that got ctx, how far it has come, and returns once
// that is durable. The next attempt of the step, on whatever node, reads it with
// [LastProgress] and can go on from there; for people it stands in the log and in
// [Runtime.State]. Each call is a durable write of its own.
//
// Errors: [ErrNotEffect] outside of an effect; an [*InputValidationError] or
// [*TooLargeError] for a v that cannot be written, an *InputValidationError in a
// [ReadOnly] step, of which nothing is recorded; [ErrSettled] if the step has been given
// up meanwhile, or the node no longer drives the execution; the cause of ctx's end.
func Progress(ctx context.Context, v any) error {
	c := effectOf(ctx)
	if c == nil {
		return ErrNotEffect
	}
	s := c.op.Effect.Do.(*step)
	if s.readOnly {
		return &InputValidationError{What: "progress of step " + c.op.Path, Err: errors.New("a ReadOnly step records none")}
	}
	raw, err := encode("progress of step "+c.op.Path, v, s.limit)
	if err != nil {
		return err
	}
	p := &progress{value: raw, done: c.run.rt.world.NewLatch()}
	c.run.send(letter{op: c.op, attempt: c.attempt, progress: p})
	c.run.poke()
	if err := p.done.Wait(ctx); err != nil {
		return err
	}
	if p.err != nil {
		return p.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = raw
	return nil
}

// LastProgress returns what the step whose effect got ctx recorded last with [Progress],
// in this attempt or an earlier one; ok is false if it recorded nothing. Errors:
// [ErrNotEffect]; an [*InputValidationError] if what was recorded is not a T.
func LastProgress[T any](ctx context.Context) (v T, ok bool, err error) {
	c := effectOf(ctx)
	if c == nil {
		return v, false, ErrNotEffect
	}
	c.mu.Lock()
	raw := c.progress
	c.mu.Unlock()
	if raw == nil {
		return v, false, nil
	}
	v, err = decode[T]("progress of step "+c.op.Path, raw)
	return v, err == nil, err
}

// progress is a record on its way.
type progress struct {
	value json.RawMessage
	seq   event.Seq
	err   error
	done  rt.Latch // it is durable, or err is set
}

// recordProgress takes what an effect records of its progress.
func (x *run) recordProgress(l letter) {
	p := l.progress
	call, ok := l.op.Call.(*effectContext)
	if !ok || call.attempt != l.attempt || !x.m.Open(l.op) {
		p.fail(ErrSettled)
		return
	}
	p.seq = x.m.Progress(l.op, p.value)
	x.records = append(x.records, p)
	x.gather(false)
}

func (p *progress) fail(err error) {
	p.err = err
	p.done.Open()
}

// recorded tells the effects whose records have become durable.
func (x *run) recorded() {
	for len(x.records) > 0 && x.records[0].seq <= x.j.Durable() {
		x.records[0].done.Open()
		x.records = x.records[1:]
	}
}

// refuseRecords tells the effects whose records never will be durable: the run has left.
func (x *run) refuseRecords() {
	x.mu.Lock()
	post := x.mu.post
	x.mu.post, x.mu.gone = nil, true
	x.mu.Unlock()
	for _, l := range post {
		if l.progress != nil {
			l.progress.fail(ErrSettled)
		}
	}
	for _, p := range x.records {
		p.fail(ErrSettled)
	}
	x.records = nil
}
