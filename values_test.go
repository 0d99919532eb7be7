package loom_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// values is what a body saw of time and chance.
type values struct {
	Now    []time.Time
	IDs    []string
	Random []uint64
}

// A replay gives a body the same time, ids and numbers; another execution other ones.
func TestNowRandAndNewIDAreTheSameInReplay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []values
		flow := loom.NewFlow("values", func(ctx loom.Context, _ int) (values, error) {
			var v values
			note := func(ctx loom.Context) {
				v.Now = append(v.Now, loom.Now(ctx))
				v.IDs = append(v.IDs, loom.NewID(ctx), loom.NewID(ctx))
				v.Random = append(v.Random, loom.Rand(ctx).Uint64(), loom.Rand(ctx).Uint64())
			}
			note(ctx)
			branch := loom.Go(ctx, "b", func(ctx loom.Context) (int, error) { note(ctx); return 0, nil })
			if _, err := branch.Get(ctx); err != nil {
				return v, err
			}
			if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
				return v, err
			}
			note(ctx)
			seen = append(seen, v)
			if _, err := loom.Await[bool](ctx, "go"); err != nil {
				return v, err
			}
			return v, nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0)
		pass(t, 2*time.Minute)
		if err := run.Signal(t.Context(), "go", true); err != nil {
			t.Fatal(err)
		}
		last, err := run.Result(soon(t))
		if err != nil || len(seen) < 2 {
			t.Fatalf("%v after %d replays", err, len(seen))
		}
		for _, v := range append(seen, last) {
			if !slices.EqualFunc(v.Now, seen[0].Now, time.Time.Equal) || !slices.Equal(v.IDs, seen[0].IDs) || !slices.Equal(v.Random, seen[0].Random) {
				t.Fatalf("%+v\n%+v", v, seen[0])
			}
		}
		unique := slices.Compact(slices.Sorted(slices.Values(last.IDs)))
		if len(unique) != len(last.IDs) || len(last.IDs[0]) != 26 || len(slices.Compact(slices.Sorted(slices.Values(last.Random)))) != len(last.Random) {
			t.Fatalf("repeats in %+v", last)
		}
		log := logOf(t, db, run.ID())
		if !last.Now[0].Equal(log[0].Time.Time()) || !last.Now[2].Equal(log[2].Time.Time()) {
			t.Fatalf("Now is %v, the turns' events are of %v and %v", last.Now, log[0].Time.Time(), log[2].Time.Time())
		}
		seen = nil
		other := begin(t, flow, rt, 0)
		if err := other.Signal(t.Context(), "go", true); err != nil {
			t.Fatal(err)
		}
		if v, err := other.Result(soon(t)); err != nil || v.IDs[0] == last.IDs[0] || v.Random[0] == last.Random[0] {
			t.Fatalf("two executions drew the same: %v", err)
		}
	})
}

func TestABodyKnowsItsExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("who", func(ctx loom.Context, _ int) (string, error) {
			if ctx.Err() != nil || ctx.Done() != nil {
				return "", context.Canceled
			}
			return loom.ExecutionID(ctx), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0, loom.ID("it-is-me")), "it-is-me")
	})
}

// syncBuffer is a buffer that many goroutines may write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) lines(containing string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range strings.Split(b.b.String(), "\n") {
		if strings.Contains(l, containing) {
			n++
		}
	}
	return n
}

func TestLoggerIsSilentInReplay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var out syncBuffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		bodies := 0
		flow := loom.NewFlow("talks", func(ctx loom.Context, _ int) (int, error) {
			bodies++
			l := loom.Logger(ctx).With("part", "x").WithGroup("g")
			l.Info("line one", "k", 1)
			if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
				return 0, err
			}
			l.Info("line two")
			return 0, nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.WithLogger(log), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0, loom.ID("talker"))
		synctest.Wait()
		yields(t, run, 0)
		if bodies != 2 || out.lines("line one") != 1 || out.lines("line two") != 1 || out.lines("execution=talker part=x g.k=1") != 1 {
			t.Fatalf("%d bodies; %s", bodies, out.b.String())
		}
	})
}
