package loom

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom/store/memstore"
)

// case 76: what a runtime remembers of executions goes with them. When hundreds have ended,
// failed, been cancelled, been refused, or left memory to wait, its books are as they were
// when it was new, whoever watched them meanwhile.
func TestARuntimesBooksAreClosedWithItsExecutions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flow := NewFlow("books", func(ctx Context, how int) (string, error) {
			switch how % 4 {
			case 0:
				return Do(ctx, "x", func(context.Context) (string, error) { return "done", nil })
			case 1:
				return "", errors.New("failed")
			case 2:
				return "", Sleep(ctx, "nap", 1000*time.Hour) // cancelled meanwhile
			}
			return Await[string](ctx, "word") // and parked
		})
		rt, err := Open(context.Background(), memstore.New(nil), Flows(flow), Tuning{Unload: time.Second, Scan: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Close()
		for i := range 400 {
			id := fmt.Sprint("b", i)
			run, err := flow.Start(t.Context(), rt, i, ID(id))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := flow.Start(t.Context(), rt, i, ID(id)); err == nil {
				t.Fatal("started twice")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			_, _ = run.Result(ctx)
			for range rt.Follow(ctx, id, 0) {
			}
			cancel()
			if i%4 == 2 {
				if err := run.Cancel(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		<-time.After(time.Hour)
		synctest.Wait()
		rt.mu.Lock()
		defer rt.mu.Unlock()
		for what, n := range map[string]int{"live": len(rt.mu.live), "busy": len(rt.mu.busy), "skip": len(rt.mu.skip),
			"watchers": len(rt.mu.watchers), "telling": len(rt.mu.telling), "backlog": int(rt.backlog.Load())} {
			if n != 0 {
				t.Errorf("%s still holds %d", what, n)
			}
		}
	})
}
