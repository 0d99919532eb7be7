package loom

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
)

// Summary is one execution in a list. Its Status is that of the fold of its log.
type Summary struct {
	ID      string
	Flow    string
	Version string
	Parent  string // of a child, "" for none
	Status  fold.Status
	Labels  map[string]string
	// Published is what the execution shows of itself, by key, as text; see [Set].
	Published map[string]string
	Events    int64  // in the log
	Owner     string // node that drives it, "" for nobody
	// Unknown says that nodes live, and none of them has the flow in this version: until
	// one comes that does, nobody goes on with the execution.
	Unknown bool
	WakeAt  time.Time // when a parked one is due; zero for none
	Mail    int64     // messages that nobody has looked at
	Strikes int       // takeovers in a row without progress
	Created time.Time
	Updated time.Time
}

// Filter selects executions; a zero field selects all.
type Filter struct {
	Flow   string
	Status fold.Status
	Labels map[string]string // all of them must be there
	// Published pairs must all be shown, with these values as text; see [Set].
	Published map[string]string
	Prefix    string // beginning of the id
}

// List yields the executions of the store, newest first. Errors: [ErrClosed], the store's;
// after one it ends.
func (r *Runtime) List(ctx context.Context, f Filter) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		q := store.Query{Flow: f.Flow, Labels: f.Labels, Published: f.Published, Prefix: f.Prefix}
		if f.Status != "" {
			q.States = []store.State{stateFor(f.Status)}
		}
		crew := crew{r: r}
		for {
			heads, next, err := r.st.Index.List(ctx, q)
			if err == nil {
				err = crew.meet(ctx, heads...)
			}
			if err != nil {
				yield(Summary{}, closed(err))
				return
			}
			for _, h := range heads {
				if !yield(crew.summary(h), nil) {
					return
				}
			}
			if next == "" {
				return
			}
			q.After = next
		}
	}
}

func stateFor(s fold.Status) store.State {
	switch s {
	case fold.Running:
		return store.StateRunning
	case fold.Paused:
		return store.StatePaused
	}
	return stateOf[s]
}

// statusOf returns the fold's word for a state of a head row.
func statusOf(s store.State) fold.Status {
	switch s {
	case store.StateCompleted:
		return fold.Completed
	case store.StateFailed:
		return fold.Failed
	case store.StateTerminated:
		return fold.Terminated
	case store.StateCancelled:
		return fold.Cancelled
	case store.StatePaused:
		return fold.Paused
	}
	return fold.Running
}

func summaryOf(h store.Head) Summary {
	s := Summary{ID: string(h.Execution), Flow: h.Index.Flow, Version: h.Index.Version, Parent: string(h.Index.Parent), Status: statusOf(h.State),
		Labels: h.Index.Labels, Published: h.Published, Events: int64(h.Tip.Head) + 1, Owner: string(h.Owner), Mail: h.Mail - h.Seen,
		Strikes: h.Strikes, Created: h.Created.Time(), Updated: h.Updated.Time()}
	if h.Owner == "" && h.WakeAt != event.Never && h.State == store.StateRunning {
		s.WakeAt = max(h.WakeAt, h.Created).Time() // "now" is stored as the beginning of time
	}
	return s
}

// closed makes an error of a store that was closed match [ErrClosed].
func closed(err error) error {
	if errors.Is(err, store.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return err
}

// awaitBirth waits, for an execution that this runtime has just started, until its
// first event is durable: what its starter asks about it, it finds.
func (r *Runtime) awaitBirth(ctx context.Context, id event.ExecutionID) error {
	if x := r.liveRun(id); x != nil {
		return x.born.Wait(ctx)
	}
	return nil
}

// Log yields the durable events of an execution from a sequence on. Errors: [ErrNotFound],
// [ErrClosed], the store's; after one it ends.
func (r *Runtime) Log(ctx context.Context, id string, from int64) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		if err := r.awaitBirth(ctx, event.ExecutionID(id)); err != nil {
			yield(event.Envelope{}, err)
			return
		}
		n := 0
		for e, err := range r.st.Log.Read(ctx, event.ExecutionID(id), store.Range{From: event.Seq(from), Strong: true}) {
			n++
			if !yield(e, closed(err)) || err != nil {
				return
			}
		}
		if n > 0 {
			return
		}
		if tip, err := r.st.Log.Tip(ctx, event.ExecutionID(id)); err != nil {
			yield(event.Envelope{}, closed(err))
		} else if !tip.Exists() {
			yield(event.Envelope{}, fmt.Errorf("loom: execution %s: %w", id, ErrNotFound))
		}
	}
}

// Follow yields the durable events of an execution from a sequence on, those to come
// too, until the execution has ended or ctx does. Errors: [ErrNotFound], [ErrClosed],
// the store's, the cause of ctx's end; after one it ends.
func (r *Runtime) Follow(ctx context.Context, id string, from int64) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		s := r.watch(event.ExecutionID(id))
		defer r.unwatch(event.ExecutionID(id), s)
		for {
			ended := from > 0 && r.hasEnded(ctx, id)
			for e, err := range r.Log(ctx, id, from) {
				if !yield(e, err) || err != nil {
					return
				}
				from = int64(e.Sequence) + 1
				ended = ended || terminalKind(e.Kind)
			}
			if ended {
				return
			}
			err := r.waitFor(ctx, s, r.tune.Scan/4)
			if err == nil && r.closing() {
				err = ErrClosed
			}
			if err != nil {
				yield(event.Envelope{}, err)
				return
			}
		}
	}
}

func (r *Runtime) hasEnded(ctx context.Context, id string) bool {
	h, ok, err := r.st.Index.Get(ctx, event.ExecutionID(id))
	return err == nil && ok && h.State.Terminal()
}

func terminalKind(k event.Kind) bool {
	return k == event.KindExecutionCompleted || k == event.KindExecutionFailed || k == event.KindExecutionCancelled ||
		k == event.KindExecutionTerminated
}

// State returns the fold of an execution's durable log. The caller owns it. Errors:
// [ErrNotFound], [ErrClosed], a [*event.DecodeError] or [*fold.LogError], the store's.
func (r *Runtime) State(ctx context.Context, id string) (*fold.State, error) {
	return fold.Read(r.Log(ctx, id, 0))
}

// Summary returns what a list shows of one execution. Errors: [ErrNotFound],
// [ErrClosed], the store's.
func (r *Runtime) Summary(ctx context.Context, id string) (Summary, error) {
	if err := r.awaitBirth(ctx, event.ExecutionID(id)); err != nil {
		return Summary{}, err
	}
	h, ok, err := r.st.Index.Get(ctx, event.ExecutionID(id))
	if err == nil && !ok {
		err = fmt.Errorf("loom: execution %s: %w", id, ErrNotFound)
	}
	crew := crew{r: r}
	if err == nil {
		err = crew.meet(ctx, h)
	}
	if err != nil {
		return Summary{}, closed(err)
	}
	return crew.summary(h), nil
}
