package loom_test

import (
	"sync"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

func TestSleepIsNeverShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("nap", func(ctx loom.Context, d time.Duration) (time.Duration, error) {
			before := loom.Now(ctx)
			err := loom.Sleep(ctx, "nap", d)
			return loom.Now(ctx).Sub(before), err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), calm)
		for _, d := range []time.Duration{-time.Hour, 0, 1, time.Microsecond + 1, time.Second, 90 * time.Minute} {
			run := begin(t, flow, rt, d)
			took, err := run.Result(t.Context())
			if err != nil || took < d || took > max(d, 0)+max(d, 0)/500+3*time.Second {
				t.Fatalf("sleep of %v took %v, %v", d, took, err)
			}
			fired := logOf(t, db, run.ID())[2]
			if p := payloads[event.TimerScheduled](t, db, run.ID())[0]; fired.Kind != event.KindTimerFired || fired.Time < p.Deadline {
				t.Fatalf("sleep of %v: due at %d, fired at %d", d, p.Deadline, fired.Time)
			}
		}
	})
}

func TestSleepUntilEndsAtItsInstant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("until", func(ctx loom.Context, at time.Time) (bool, error) {
			err := loom.SleepUntil(ctx, "until", at)
			return !loom.Now(ctx).Before(at), err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		for _, at := range []time.Time{time.Now().Add(10*time.Minute + 1), time.Now().Add(-time.Hour), {}} {
			yields(t, begin(t, flow, rt, at), true)
		}
	})
}

// A short sleep stays in memory; a long one is let go by the commit that records it
// and costs no commit of its own.
func TestALongSleepIsParkedAndWoken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("nap", func(ctx loom.Context, d time.Duration) (int, error) {
			return 1, loom.Sleep(ctx, "nap", d)
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})

		begin(t, flow, rt, 10*time.Minute, loom.ID("long"))
		until(t, "the sleep is recorded", func() bool { return len(logOf(t, db, "long")) == 2 })
		if h := headOf(t, db, "long"); h.Owner != "" || h.WakeAt != payloads[event.TimerScheduled](t, db, "long")[0].Deadline {
			t.Fatalf("not parked: %+v", h)
		}
		if n := len(way.commits("long")); n != 2 {
			t.Fatalf("%d commits until it slept, want the start and the sleep", n)
		}
		yields(t, attach[int](t, rt, "long"), 1)
		if n := len(way.commits("long")); n != 4 {
			t.Fatalf("%d commits in all, want two more: the claim and the end", n)
		}

		begin(t, flow, rt, time.Second/2, loom.ID("short"))
		until(t, "the sleep is recorded", func() bool { return len(logOf(t, db, "short")) >= 2 })
		yields(t, attach[int](t, rt, "short"), 1)
		if h := headOf(t, db, "short"); h.Tip.Fence != 0 {
			t.Fatalf("a short sleep changed owners: %+v", h.Tip)
		}
	})
}

// case 37: a sleep is known by its name; the recorded deadline holds when the
// program that goes on would choose another.
func TestTheRecordedDeadlineHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		length := 20 * time.Minute
		flow := loom.NewFlow("nap", func(ctx loom.Context, _ int) (time.Duration, error) {
			before := loom.Now(ctx)
			err := loom.Sleep(ctx, "nap", length)
			return loom.Now(ctx).Sub(before).Truncate(time.Minute), err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("n"))
		until(t, "the sleep is recorded", func() bool { return len(logOf(t, db, "n")) == 2 })
		shut(t, rt)
		length = 100 * time.Minute
		rt = open(t, db, loom.Flows(flow))
		yields(t, attach[time.Duration](t, rt, "n"), 20*time.Minute)
	})
}

// case 35: several timers of one turn are several timers.
func TestEveryTimerOfATurnFiresOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 50
		flow := loom.NewFlow("timers", func(ctx loom.Context, _ int) (int, error) {
			var naps []*loom.Future[int]
			for i := range n {
				naps = append(naps, loom.Go(ctx, "nap", func(ctx loom.Context) (int, error) {
					return i, loom.Sleep(ctx, "s", time.Duration(i%7)*time.Minute)
				}))
			}
			all, err := loom.All(ctx, naps...)
			return len(all), err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: 10 * time.Second})
		yields(t, begin(t, flow, rt, 0, loom.ID("t")), n)
		fired := map[string]int{}
		for _, p := range payloads[event.TimerFired](t, db, "t") {
			fired[p.Op]++
		}
		if len(fired) != n || len(payloads[event.TimerFired](t, db, "t")) != n {
			t.Fatalf("%d of %d timers fired, %v", len(fired), n, fired)
		}
	})
}

// claims B-61 and B-62, race 15: two nodes see one timer due; one wakes it, once.
func TestTwoNodesWakeOneTimerOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("nap", func(ctx loom.Context, _ int) (string, error) {
			if err := loom.Sleep(ctx, "nap", 5*time.Minute); err != nil {
				return "", err
			}
			return step(ctx, &calls, "act")
		})
		db := memstore.New(nil)
		a, b := open(t, db, loom.Flows(flow)), open(t, db, loom.Flows(flow))
		var wg sync.WaitGroup
		for i := range 20 {
			run := begin(t, flow, []*loom.Runtime{a, b}[i%2], 0)
			wg.Go(func() {
				if v, err := run.Result(soon(t)); err != nil || v != "act" {
					t.Errorf("%q, %v", v, err)
				}
				if n := len(payloads[event.TimerFired](t, db, run.ID())); n != 1 {
					t.Errorf("%d fires", n)
				}
				if h := headOf(t, db, run.ID()); h.Tip.Fence != 1 {
					t.Errorf("%d claims of one wake-up", h.Tip.Fence)
				}
			})
		}
		wg.Wait()
		if calls.count("act") != 20 {
			t.Fatalf("%d calls for 20 executions", calls.count("act"))
		}
	})
}

// race 27: a node whose clock is two hours wrong fires nothing early by the store's.
func TestANodeWithAWrongClockFiresNothingEarly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, skew := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
			now := func() event.Time { return event.At(time.Now().Add(skew)) }
			db := memstore.New(&memstore.Options{Now: now})
			flow := loom.NewFlow("nap", func(ctx loom.Context, _ int) (int, error) { return 1, loom.Sleep(ctx, "nap", time.Minute) })
			rt := open(t, db, loom.Flows(flow))
			began, before := now(), time.Now()
			yields(t, begin(t, flow, rt, 0, loom.ID("n")), 1)
			if p := payloads[event.TimerScheduled](t, db, "n")[0]; p.Deadline < began.Add(time.Minute) {
				t.Fatalf("due %v after the start", p.Deadline.Sub(began))
			}
			if took := time.Since(before); took < time.Minute || took > time.Minute+3*time.Second {
				t.Fatalf("skew %v: took %v", skew, took)
			}
			shut(t, rt)
		}
	})
}
