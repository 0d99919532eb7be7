package loom

import (
	"context"
	"fmt"
	"iter"
	"log/slog"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
)

// ReplayReport says what a log was replayed to.
type ReplayReport struct {
	ID      event.ExecutionID
	Flow    string
	Version string      // of the flow, "" for none
	Events  int         // in the log
	Status  fold.Status // by the log
	// Next is what the code asks for behind the end of a log that has not ended, in the
	// order in which it asks: "EFFECT_SCHEDULED ship#1". Nothing for a body that waits
	// for what it asked before.
	Next []string
}

// UnknownFlowError reports a log of a flow that is not among those given, or not in the
// version that the log was begun with.
type UnknownFlowError struct {
	Flow    string
	Version string // "" for none
}

func (e *UnknownFlowError) Error() string {
	if e.Version == "" {
		return fmt.Sprintf("loom: no flow here is called %q", e.Flow)
	}
	return fmt.Sprintf("loom: no flow here is called %q and has the version %q", e.Flow, e.Version)
}

// LoomCode returns the error's stable code.
func (e *UnknownFlowError) LoomCode() string { return "unknown_flow" }

// Replay drives today's code over a recorded log, as a node does that takes the execution
// over, and stops where the log ends: nothing is called, nothing is written, and the body
// is unwound. log is read to its end; it comes from [Runtime.Log] or [event.ReadLog].
//
// It returns nil if the code asks for everything that the log holds, in order. Errors: a
// [*DivergedError] if it does not; an [*UnknownFlowError]; a [*fold.LogError] or
// [*event.DecodeError] if the log is none; [ErrNotFound] if it is empty; those of log;
// the cause of ctx's end, which is looked at while the log is read, and not while a body
// runs.
func Replay(ctx context.Context, log iter.Seq2[event.Envelope, error], flows ...AnyFlow) (ReplayReport, error) {
	var out ReplayReport
	rec, state, err := recorded(ctx, log)
	if err != nil {
		return out, err
	}
	out = ReplayReport{ID: state.Execution, Flow: state.Flow, Version: state.Version, Events: len(rec), Status: state.Status}
	r := &Runtime{world: rt.From(ctx), log: slog.New(slog.DiscardHandler), flows: map[store.FlowVersion]AnyFlow{}}
	if err := Flows(flows...).apply(r); err != nil {
		return out, err
	}
	if err := r.tune.validate(); err != nil {
		return out, err
	}
	f, known := r.flows[store.FlowVersion{Flow: state.Flow, Version: state.Version}]
	if !known {
		return out, &UnknownFlowError{Flow: state.Flow, Version: state.Version}
	}
	x := &run{rt: r, id: state.Execution, flow: f, seed: state.Seed}
	now := func() event.Time { return x.m.State().Updated } // no clock: a replay is the same every time
	x.m = kernel.New(x.id, kernel.Config{Body: x.body, Final: x.final, Coroutine: r.world.Coroutine, Stamp: now})
	err = x.m.Replay(rec)
	if err != nil {
		err = x.divergence(err)
	} else {
		for _, e := range x.m.TakeEvents() {
			out.Next = append(out.Next, kernel.Describe(e))
		}
		for _, op := range x.m.TakeCalls() {
			if op.Effect.ReadOnly { // it is called without an intent
				out.Next = append(out.Next, "read-only "+op.Path)
			}
		}
	}
	x.m.Unload()
	if w, ok := r.world.(interface{ Close() }); ok {
		w.Close() // a world keeps goroutines for reuse
	}
	return out, err
}

// recorded reads a log and checks that it folds.
func recorded(ctx context.Context, log iter.Seq2[event.Envelope, error]) ([]kernel.Recorded, *fold.State, error) {
	s := fold.New()
	var rec []kernel.Recorded
	for e, err := range log {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
		p, err := e.Decode()
		if err == nil {
			err = s.Apply(e, p)
		}
		if err != nil {
			return nil, nil, err
		}
		rec = append(rec, kernel.Recorded{Envelope: e, Payload: p})
	}
	if len(rec) == 0 {
		return nil, nil, fmt.Errorf("loom: the log is empty: %w", ErrNotFound)
	}
	return rec, s, nil
}
