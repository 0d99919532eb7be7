package loom_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// goldenShows shows what it is at. It is never changed either.
var goldenShows = loom.NewFlow("golden-shows", func(ctx loom.Context, n int) (int, error) {
	if err := loom.Set(ctx, "stage", "a \"first\" one\n<&>"); err != nil {
		return 0, err
	}
	paid, err := loom.Do(ctx, "pay", func(context.Context) (map[string]any, error) { return map[string]any{"cents": 1e21, "ok": true}, nil })
	if err != nil {
		return 0, err
	}
	if err := loom.Set(ctx, "paid", paid); err != nil {
		return 0, err
	}
	if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
		return 0, err
	}
	if err := loom.Set(ctx, "stage", nil); err != nil {
		return 0, err
	}
	return n, loom.Set(ctx, "done", true)
})

// The golden log of goldenShows is what it writes.
func TestGoldenShowsWritesItsGoldenLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(goldenShows))
		yields(t, begin(t, goldenShows, rt, 7, loom.ID("golden-shows")), 7)
		log := logOf(t, db, "golden-shows")
		var file strings.Builder
		if err := event.WriteLog(&file, logIn(log)); err != nil {
			t.Fatal(err)
		}
		golden := readGolden(t, "shows-1.0.0.log", file.String())
		if got, want := kinds(log), kinds(golden); got != want {
			t.Fatalf("written:\n%s\nrecorded:\n%s", got, want)
		}
		for i := range log {
			if log[i].Kind == event.KindStateSet && string(log[i].Payload) != string(golden[i].Payload) {
				t.Errorf("written %s, recorded %s", log[i].Payload, golden[i].Payload)
			}
		}
	})
}
