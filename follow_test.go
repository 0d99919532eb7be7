package loom_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// claim B-44: who follows sees each durable event once, in order, to the end.
func TestFollowYieldsWhatComesToTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("steps", func(ctx loom.Context, n int) (int, error) {
			for range n {
				if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		db := memstore.New(nil)
		here, there := open(t, db, loom.Flows(flow), loom.Tuning{Unload: 100 * time.Millisecond}), open(t, db)
		begin(t, flow, here, 5, loom.ID("f"))
		var got, elsewhere []event.Envelope
		done := make(chan error, 1)
		go func() {
			for e, err := range there.Follow(soon(t), "f", 0) {
				if err != nil {
					done <- err
					return
				}
				elsewhere = append(elsewhere, e)
			}
			done <- nil
		}()
		for e, err := range here.Follow(soon(t), "f", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if durable := logOf(t, db, "f"); len(durable) <= int(e.Sequence) || !durable[e.Sequence].Equal(e) {
				t.Fatalf("%s was yielded before it was durable", e.ID())
			}
			got = append(got, e)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		all := logOf(t, db, "f")
		if !slices.EqualFunc(got, all, event.Envelope.Equal) || !slices.EqualFunc(elsewhere, all, event.Envelope.Equal) || len(all) != 12 {
			t.Fatalf("here %s\nthere %s", kinds(got), kinds(elsewhere))
		}
		for _, from := range []int64{11, 12, 99} { // the end, and behind it
			n := 0
			for _, err := range here.Follow(soon(t), "f", from) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != max(12-int(from), 0) {
				t.Fatalf("from %d: %d events", from, n)
			}
		}
	})
}

// case 76: a follower that leaves early, or whose context ends, leaves nothing behind.
func TestAFollowerMayLeave(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("w"))
		for range rt.Follow(t.Context(), "w", 0) {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var last error
		for _, err := range rt.Follow(ctx, "w", 0) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Fatal(last)
		}
		closed := make(chan error, 1)
		go func() {
			var last error
			for _, err := range rt.Follow(context.Background(), "w", 0) {
				last = err
			}
			closed <- last
		}()
		synctest.Wait()
		shut(t, rt)
		if err := <-closed; !errors.Is(err, loom.ErrClosed) {
			t.Fatal(err)
		}
	})
}

// What a program has started with a minted id, it can look at at once.
func TestOwnStartsCanBeLookedAtBeforeTheyAreDurable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("quick", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow))
		for _, look := range []func(id string) error{
			func(id string) error { _, err := rt.State(t.Context(), id); return err },
			func(id string) error { _, err := rt.Summary(t.Context(), id); return err },
			func(id string) error { return attach[int](t, rt, id).Durable(t.Context()) },
			func(id string) error {
				for _, err := range rt.Log(t.Context(), id, 0) {
					return err
				}
				return errors.New("an empty log")
			},
			func(id string) error {
				for _, err := range rt.Follow(t.Context(), id, 0) {
					return err
				}
				return errors.New("nothing to follow")
			},
			func(id string) error { return rt.Signal(t.Context(), id, "n", 1) },
			func(id string) error { return rt.Cancel(t.Context(), id, "") },
		} {
			commits := shutGate(t)
			way.commitGate(commits, "")
			run := begin(t, flow, rt, 0)
			looked := make(chan error, 1)
			go func() { looked <- look(run.ID()) }()
			synctest.Wait()
			select {
			case err := <-looked:
				t.Fatalf("did not wait for sequence 0: %v", err)
			default:
			}
			commits.open()
			if err := <-looked; err != nil {
				t.Fatal(err)
			}
			if len(logOf(t, db, run.ID())) == 0 {
				t.Fatal("sequence 0 is not durable")
			}
		}
	})
}
