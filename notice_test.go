package loom_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// crying is a store whose notices come all the time, for nothing, and sometimes with a
// version that was told before.
type crying struct{ cries counter }

func (c *crying) Await(ctx context.Context, since int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	c.cries.inc()
	return max(1, since+1-c.cries.Load()%3), nil
}

// case 61: notices for nothing, and stale ones, change nothing: who waits looks again and
// goes on waiting; nothing is claimed, written or run, and what does come is found.
func TestNoticesForNothingChangeNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		db := memstore.New(nil)
		s := store.Of(db)
		cry := &crying{}
		s.Hints = cry
		rt := open(t, store.Opened(s), loom.Flows(flow), loom.Tuning{Unload: time.Second})
		parked := begin(t, flow, rt, 0, loom.ID("parked"))
		var followed []event.Envelope
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range rt.Follow(soon(t), "parked", 0) {
				if err != nil {
					t.Error(err)
					return
				}
				followed = append(followed, e)
			}
		}()
		result := make(chan string, 1)
		go func() {
			v, err := parked.Result(soon(t))
			result <- fmt.Sprint(v, err)
		}()
		pass(t, 10*time.Second)
		before := headOf(t, db, "parked")
		if before.Owner != "" {
			t.Fatal("it is not parked")
		}
		heard := cry.cries.Load()
		pass(t, time.Minute)
		if n := cry.cries.Load() - heard; n < 100 || n > 60*60 {
			t.Fatalf("%d notices in a minute", n)
		}
		if after := headOf(t, db, "parked"); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("notices moved the row: %+v, it was %+v", after, before)
		}
		select {
		case got := <-result:
			t.Fatalf("a notice ended a wait: %s", got)
		default:
		}
		signal(t, rt, "parked", "word", "come")
		if got := <-result; got != "come<nil>" {
			t.Fatal(got)
		}
		<-done
		if log := logOf(t, db, "parked"); len(followed) != len(log) {
			t.Fatalf("followed %s, the log has %s", kinds(followed), kinds(log))
		}
	})
}
