package loom_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// logIn is a log as an iterator.
func logIn(log []event.Envelope) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// recordedBuild is the log of the build that is called recorded, up to its end.
func recordedBuild(t *testing.T) []event.Envelope {
	t.Helper()
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) { return builds["recorded"](ctx) })
	db := memstore.New(nil)
	rt := open(t, db, loom.Flows(flow))
	run := begin(t, flow, rt, 0, loom.ID("x"))
	signal(t, rt, "x", "word", "hello")
	yields(t, run, "hello")
	return logOf(t, db, "x")
}

// TestReplayStopsWhereTheLogEnds: each piece of a log that a node could find fits the
// code that wrote it. Nothing is called, and what the body deferred is run. The bubble
// would not end with a goroutine of the body.
func TestReplayStopsWhereTheLogEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := recordedBuild(t)
		var entered, unwound counter
		today := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
			entered.inc()
			defer unwound.inc()
			if _, err := loom.Do(ctx, "a", func(context.Context) (int, error) { panic("called in a replay") }); err != nil {
				return "", err
			}
			if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
				return "", err
			}
			return loom.Await[string](ctx, "word")
		})
		next := map[int][]string{1: {"EFFECT_SCHEDULED a#1"}, 3: {"TIMER_SCHEDULED nap#1"}, 5: {"MESSAGE_AWAITED word#1 of word"},
			7: {"EXECUTION_COMPLETED"}}
		for n := 1; n <= len(log); n++ {
			rep, err := loom.Replay(t.Context(), logIn(log[:n]), today)
			want := fold.Running
			if n == len(log) {
				want = fold.Completed
			}
			if err != nil || rep.ID != "x" || rep.Flow != "flow" || rep.Events != n || rep.Status != want || !slices.Equal(rep.Next, next[n]) {
				t.Errorf("%d events: %+v, %v", n, rep, err)
			}
			entered.is(t, "entered", int64(n))
			unwound.is(t, "unwound", int64(n))
		}
	})
}

// TestReplayFindsEveryBuildThatDoesNotFit: a replay in a test tells what a takeover would,
// at the same place. race 29
func TestReplayFindsEveryBuildThatDoesNotFit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := recordedBuild(t)
		for name, body := range builds {
			flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) { return body(ctx) })
			_, err := loom.Replay(t.Context(), logIn(log), flow)
			if name == "recorded" {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			var diverged *loom.DivergedError
			if !errors.As(err, &diverged) || diverged.ID != "x" || diverged.Recorded == diverged.Asked || diverged.Sequence < 1 {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestReplayRefusesWhatIsNoLogOfItsFlows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := recordedBuild(t)
		flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) { panic("entered") })
		other := loom.NewFlow("other", func(ctx loom.Context, _ int) (string, error) { panic("entered") })
		var unknown *loom.UnknownFlowError
		var bad *fold.LogError
		var undecodable *event.DecodeError
		if _, err := loom.Replay(t.Context(), logIn(log), other); !errors.As(err, &unknown) || unknown.Flow != "flow" {
			t.Errorf("another flow: %v", err)
		}
		if _, err := loom.Replay(t.Context(), logIn(log), flow, flow); err == nil {
			t.Error("a flow twice")
		}
		if _, err := loom.Replay(t.Context(), logIn(nil), flow); !errors.Is(err, loom.ErrNotFound) {
			t.Errorf("an empty log: %v", err)
		}
		if _, err := loom.Replay(t.Context(), logIn(log[1:]), flow); !errors.As(err, &bad) {
			t.Errorf("a log without its beginning: %v", err)
		}
		if _, err := loom.Replay(t.Context(), logIn(append(log[:2:2], log[3:]...)), flow); !errors.As(err, &bad) || bad.Sequence != 3 {
			t.Errorf("a log with a gap: %v", err)
		}
		broken := slices.Clone(log)
		broken[2].Payload = []byte("{")
		if _, err := loom.Replay(t.Context(), logIn(broken), flow); !errors.As(err, &undecodable) {
			t.Errorf("a broken payload: %v", err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := loom.Replay(ctx, logIn(log), flow); !errors.Is(err, cause) {
			t.Errorf("an ended context: %v", err)
		}
		down := func(yield func(event.Envelope, error) bool) { _ = yield(log[0], nil) && yield(event.Envelope{}, cause) }
		if _, err := loom.Replay(t.Context(), down, flow); !errors.Is(err, cause) {
			t.Errorf("a log that fails: %v", err)
		}
	})
}

// TestReplayGoesThroughWhatABodyLeavesToItsEnd: undoing and cleaning up are in the log, and
// must fit it too.
func TestReplayGoesThroughWhatABodyLeavesToItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		build := func(undo string) *loom.Flow[int, int] {
			step := func(ctx loom.Context, name string) error {
				_, err := loom.Do(ctx, name, func(context.Context) (int, error) { return 1, nil })
				return err
			}
			return loom.NewFlow("undone", func(ctx loom.Context, _ int) (int, error) {
				if err := loom.Cleanup(ctx, "tidy", func(ctx loom.Context) error { return step(ctx, "tidy") }); err != nil {
					return 0, err
				}
				if err := loom.Compensate(ctx, undo, func(context.Context) error { return nil }); err != nil {
					return 0, err
				}
				return 0, errors.Join(step(ctx, "pay"), errDeclined)
			})
		}
		db := memstore.New(nil)
		today := build("refund")
		fails(t, begin(t, today, open(t, db, loom.Flows(today)), 0, loom.ID("x")))
		log := logOf(t, db, "x")
		if len(log) != 8 {
			t.Fatalf("%d events", len(log))
		}
		for n := 1; n <= len(log); n++ {
			if rep, err := loom.Replay(t.Context(), logIn(log[:n]), today); err != nil || n == len(log) && rep.Status != fold.Failed {
				t.Errorf("%d events: %+v, %v", n, rep, err)
			}
		}
		var diverged *loom.DivergedError
		if _, err := loom.Replay(t.Context(), logIn(log), build("reimburse")); !errors.As(err, &diverged) || diverged.Sequence != 3 {
			t.Errorf("another undoing: %v", err)
		}
	})
}
