package loom_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// collect is a flow that, after a nap, receives n messages of each name, in turn, by two
// branches a name if told to, and says in which order they came.
func collect(n int, names ...string) *loom.Flow[int, string] {
	return loom.NewFlow("collect", func(ctx loom.Context, _ int) (string, error) {
		if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
			return "", err
		}
		for i := range n {
			for _, name := range names {
				v, err := loom.Await[int](ctx, name)
				if err != nil {
					return fmt.Sprint(i, name), err
				}
				if v != i {
					return fmt.Sprintf("%s %d is %d", name, i, v), nil
				}
			}
		}
		return "in order", nil
	})
}

// case 47: thousands of messages come before the first is asked for, in a mix of names of
// which some are never asked for and stand in front of the others. Each name's come in
// order, each once; not more of them than a page or so are kept in memory; what nobody
// received is told at the end, and is there to be read.
func TestThousandsOfMessagesBehindThoseThatNobodyWants(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 2500 // of each name, twice what a run keeps
		warned := &warnings{}
		db := memstore.New(nil)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		flow := collect(n, "a", "b")
		begin(t, flow, client, 0, loom.ID("x"))
		for i := range n {
			signal(t, client, "x", "never", i, loom.MessageID(fmt.Sprint("never-", i)))
		}
		for i := range n {
			signal(t, client, "x", "a", i, loom.MessageID(fmt.Sprint("a-", i)))
		}
		for i := range n {
			signal(t, client, "x", "b", i, loom.MessageID(fmt.Sprint("b-", i)))
		}
		rt, way := tapped(t, db, loom.Flows(flow), warned.hooks())
		yields(t, attach[string](t, rt, "x"), "in order")
		if got := payloads[event.MessageReceived](t, db, "x"); len(got) != 2*n {
			t.Fatalf("%d received", len(got))
		}
		// Each page is read once to be looked at, and about once more to be kept.
		if reads := way.count("pending", "x"); reads > 4*3*n/256 {
			t.Errorf("%d reads of the inbox", reads)
		}
		var left *loom.LeftoverError
		if errs := warned.of("x"); len(errs) != 1 || !errors.As(errs[0], &left) || left.Count != n || fmt.Sprint(left.Names) != "[never]" {
			t.Fatalf("warned: %.300v", errs)
		}
		i := 0
		for m, err := range client.Pending(t.Context(), "x") {
			if err != nil || m.ID != fmt.Sprint("never-", i) || m.Name != "never" || string(m.Body) != fmt.Sprint(i) || m.Posted.IsZero() {
				t.Fatalf("%d: %+v, %v", i, m, err)
			}
			i++
		}
		if i != n {
			t.Fatalf("%d are left", i)
		}
	})
}

// A cancel does not wait for the rest of a flood, and is not lost behind messages that
// nobody asks for.
func TestACancelOvertakesAFlood(t *testing.T) {
	for _, name := range []string{"a", "never"} {
		bubble(t, func(t *testing.T) {
			db := memstore.New(nil)
			client := open(t, db, loom.Tuning{ClientOnly: true})
			flow := loom.NewFlow("flooded", func(ctx loom.Context, _ int) (int, error) {
				for i := 0; ; i++ {
					if _, err := loom.Await[int](ctx, "a"); err != nil {
						return i, err
					}
				}
			})
			begin(t, flow, client, 0, loom.ID("x"))
			for i := range 3000 {
				signal(t, client, "x", name, i)
			}
			if err := client.Cancel(t.Context(), "x", "enough"); err != nil {
				t.Fatal(err)
			}
			rt := open(t, db, loom.Flows(flow))
			if err := fails(t, attach[int](t, rt, "x")); err.Status != fold.Cancelled {
				t.Fatal(err)
			}
			if n := len(payloads[event.MessageReceived](t, db, "x")); n > 1100 {
				t.Fatalf("%d messages went before the cancel", n)
			}
		})
	}
}

// Two branches wait for one name and one for another, with limits that run out in between:
// each message is received once, by the wait that began first and is still open. case 48
func TestWaitsThatRunOutLeaveTheOthersTheirMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("limits", func(ctx loom.Context, _ int) (string, error) {
			wait := func(within time.Duration) func(ctx loom.Context) (string, error) {
				return func(ctx loom.Context) (string, error) {
					v, err := loom.Await[string](ctx, "word", loom.Within(within))
					if errors.Is(err, loom.ErrTimeout) {
						return "-", nil
					}
					return v, err
				}
			}
			all, err := loom.All(ctx, loom.Go(ctx, "w", wait(time.Minute)), loom.Go(ctx, "w", wait(time.Hour)),
				loom.Go(ctx, "w", wait(2*time.Minute)), loom.Go(ctx, "w", wait(time.Hour)))
			if err != nil {
				return "", err
			}
			last, err := loom.Await[string](ctx, "word", loom.Within(time.Hour))
			return strings.Join(append(all, last), " "), err
		})
		for _, unload := range []time.Duration{time.Second, time.Hour} {
			db := memstore.New(nil)
			rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload})
			run := begin(t, flow, rt, 0)
			pass(t, 90*time.Second)
			signal(t, rt, run.ID(), "word", "x")
			pass(t, 10*time.Second)
			for _, w := range []string{"y", "z", "end"} {
				signal(t, rt, run.ID(), "word", w)
			}
			yields(t, run, "- x y z end")
			shut(t, rt)
		}
	})
}

// Pending tells of no execution as such, and not of what Loom sends itself.
func TestPendingShowsMessagesOfUsersAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		begin(t, two, client, 1, loom.ID("x"), loom.Delay(time.Hour))
		signal(t, client, "x", "word", "a")
		if err := client.Cancel(t.Context(), "x", ""); err != nil {
			t.Fatal(err)
		}
		n := 0
		for m, err := range client.Pending(t.Context(), "x") {
			if err != nil || m.Name != "word" {
				t.Fatalf("%+v %v", m, err)
			}
			n++
		}
		if n != 1 {
			t.Fatal(n)
		}
		for id, want := range map[string]error{"none": loom.ErrNotFound, "no good": nil} { // order does not matter: each stands for itself
			for _, err := range client.Pending(t.Context(), id) {
				if err == nil || want != nil && !errors.Is(err, want) {
					t.Errorf("%s: %v", id, err)
				}
			}
		}
	})
}
