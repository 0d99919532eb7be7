package loom_test

import (
	"errors"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// case 5: a delayed start that is sent twice is one: the second is told so, under the
// first one's id, and the execution shows the first one's time, at which it runs.
func TestADelayedStartSentTwiceKeepsItsFirstTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("later", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "act") })
		db := memstore.New(nil)
		a, b := open(t, db, loom.Flows(flow)), open(t, db, loom.Flows(flow))
		before := time.Now()
		run := begin(t, flow, a, 0, loom.ID("d"), loom.Delay(time.Hour))
		at, err := a.Summary(t.Context(), "d")
		if err != nil || at.WakeAt.Before(before.Add(time.Hour)) || at.WakeAt.After(before.Add(time.Hour+time.Second)) {
			t.Fatalf("%+v, %v", at, err)
		}
		for i, delay := range []time.Duration{0, time.Minute, 5 * time.Hour, time.Hour} {
			pass(t, time.Minute)
			again, err := flow.Start(t.Context(), b, 0, loom.ID("d"), loom.Delay(delay))
			var exists *loom.ExecutionAlreadyExistsError
			if again != nil || !errors.As(err, &exists) || exists.ID != "d" || !exists.SameRequest {
				t.Fatalf("%d: %v", i, err)
			}
			if now, err := b.Summary(t.Context(), string(exists.ID)); err != nil || !now.WakeAt.Equal(at.WakeAt) {
				t.Fatalf("%d: it wakes at %v, %v; it was %v", i, now.WakeAt, err, at.WakeAt)
			}
		}
		yields(t, run, "act")
		if took := time.Since(before); took < time.Hour || took > time.Hour+2*time.Second || calls.count("act") != 1 {
			t.Fatalf("it ran after %v, %d times", took, calls.count("act"))
		}
	})
}
