package loom_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// Await waits for a message, which carries a value of the sender's.
func ExampleAwait() {
	type Answer struct{ Yes bool }
	ask := loom.NewFlow("ask", func(ctx loom.Context, question string) (string, error) {
		a, err := loom.Await[Answer](ctx, "answer")
		return fmt.Sprint(question, " ", a.Yes), err
	})
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(ask))
	defer rt.Close()
	run, _ := ask.Start(ctx, rt, "tea?")
	if err := run.Signal(ctx, "answer", Answer{Yes: true}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: tea? true <nil>
}

// A wait may have a limit, which survives a restart like a sleep.
func ExampleWithin() {
	ask := loom.NewFlow("ask", func(ctx loom.Context, _ int) (string, error) {
		_, err := loom.Await[bool](ctx, "answer", loom.Within(time.Millisecond))
		if errors.Is(err, loom.ErrTimeout) {
			return "nobody answered", nil
		}
		return "answered", err
	})
	fmt.Println(outcome(ask, 0))
	// Output: nobody answered <nil>
}

// SleepUntil waits for an instant.
func ExampleSleepUntil() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, at time.Time) (bool, error) {
		err := loom.SleepUntil(ctx, "opening", at)
		return loom.Now(ctx).Before(at), err
	})
	early, err := outcome(flow, time.Now().Add(5*time.Millisecond))
	fmt.Println("too early:", early, err)
	// Output: too early: false <nil>
}

// Now is the time of what the body reacts to. It moves when a verb has waited, and not
// while the body computes.
func ExampleNow() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
		began := loom.Now(ctx)
		same := loom.Now(ctx).Equal(began)
		if err := loom.Sleep(ctx, "a-while", 2*time.Millisecond); err != nil {
			return "", err
		}
		return fmt.Sprint(same, " ", loom.Now(ctx).Sub(began) >= 2*time.Millisecond), nil
	})
	fmt.Println(outcome(flow, 0))
	// Output: true true <nil>
}

// NewID makes ids that are the same whenever the body runs again.
func ExampleNewID() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
		a, b := loom.NewID(ctx), loom.NewID(ctx)
		return fmt.Sprintf("%d letters, equal: %v", len(a), a == b), nil
	})
	fmt.Println(outcome(flow, 0))
	// Output: 26 letters, equal: false <nil>
}

// Rand is chance that a replay repeats: the sleep does not change where the body goes.
func ExampleRand() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, sides int) (bool, error) {
		dice := loom.Rand(ctx).IntN(sides) + 1
		err := loom.Sleep(ctx, "shake", time.Millisecond)
		return dice >= 1 && dice <= sides, err
	})
	fmt.Println(outcome(flow, 6))
	// Output: true <nil>
}

// A body may ask for its own id: to hand it to whoever will answer, for one.
func ExampleExecutionID() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
		return "answer to " + loom.ExecutionID(ctx), nil
	})
	rt := node(memstore.New(nil), loom.Flows(flow))
	defer rt.Close()
	run, _ := flow.Start(context.Background(), rt, 0, loom.ID("question-7"))
	fmt.Println(run.Result(context.Background()))
	// Output: answer to question-7 <nil>
}

// Version keeps old executions on old code. This one is new, so it takes the new way.
func ExampleVersion() {
	ship := loom.NewFlow("ship", func(ctx loom.Context, item string) (string, error) {
		if loom.Version(ctx, "ship-by-air", 0, 1) == 0 {
			return item + " by sea", nil
		}
		return item + " by air", nil
	})
	fmt.Println(outcome(ship, "tea"))
	// Output: tea by air <nil>
}

// Logger writes each line once, however often the body is called again. The execution's id
// is added to it.
func ExampleLogger() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, item string) (string, error) {
		loom.Logger(ctx).Info("packing", "item", item)
		return "", nil
	})
	plain := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	rt := node(memstore.New(nil), loom.Flows(flow), loom.WithLogger(slog.New(plain)))
	defer rt.Close()
	run, _ := flow.Start(context.Background(), rt, "tea", loom.ID("order-1"))
	if _, err := run.Result(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: level=INFO msg=packing execution=order-1 item=tea
}

// A cleanup runs when the body has ended, however it ended. Verbs work in it.
func ExampleCleanup() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
		err := loom.Cleanup(ctx, "room", func(ctx loom.Context) error {
			_, err := loom.Do(ctx, "unlock", func(context.Context) (bool, error) {
				fmt.Println("the room is free again")
				return true, nil
			})
			return err
		})
		if err != nil {
			return "", err
		}
		return "", errors.New("nobody came")
	})
	_, err := outcome(flow, 0)
	fmt.Println("failed:", err != nil)
	// Output:
	// the room is free again
	// failed: true
}

// A compensation takes back what was done, if the body fails. The last is undone first.
func ExampleCompensate() {
	trip := loom.NewFlow("trip", func(ctx loom.Context, to string) (string, error) {
		for _, what := range []string{"flight", "hotel"} {
			_, err := loom.Do(ctx, "book", func(context.Context) (bool, error) {
				fmt.Println("booked: " + what)
				return true, nil
			})
			if err != nil {
				return "", err
			}
			err = loom.Compensate(ctx, "give-back", func(context.Context) error {
				fmt.Println("given back: " + what)
				return nil
			})
			if err != nil {
				return "", err
			}
		}
		return "", errors.New("no visa for " + to)
	})
	_, err := outcome(trip, "Lima")
	fmt.Println("failed:", err != nil)
	// Output:
	// booked: flight
	// booked: hotel
	// given back: hotel
	// given back: flight
	// failed: true
}

// ContinueAs begins the body again with another input, in the same execution, so that a
// life without end has a log that need not be read from its beginning.
func ExampleContinueAs() {
	countdown := loom.NewFlow("countdown", func(ctx loom.Context, n int) (string, error) {
		fmt.Println(n)
		if n == 1 {
			return "go", nil
		}
		return "", loom.ContinueAs(ctx, n-1)
	})
	fmt.Println(outcome(countdown, 3))
	// Output:
	// 3
	// 2
	// 1
	// go <nil>
}
