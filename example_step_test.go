package loom_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// What an effect is called with stands in the log, for people; and code that would call it
// with something else does not fit that log any more.
func ExampleArgs() {
	pay := loom.NewFlow("pay", func(ctx loom.Context, cents int) (bool, error) {
		return loom.Do(ctx, "charge", func(context.Context) (bool, error) { return true, nil },
			loom.Args(map[string]int{"cents": cents}))
	})
	rt := node(memstore.New(nil), loom.Flows(pay))
	defer rt.Close()
	run, _ := pay.Start(context.Background(), rt, 4200, loom.ID("order-1"))
	fmt.Println(run.Result(context.Background()))
	for e, err := range rt.Log(context.Background(), "order-1", 1) {
		if err == nil && e.Kind == event.KindEffectScheduled {
			fmt.Println(string(e.Payload))
		}
	}
	// Output:
	// true <nil>
	// {"op":"charge#1","args":{"cents":4200}}
}

// A mail cannot be taken back, so it is better not sent than sent twice. When nobody knows
// whether it went out, the flow is told so.
func ExampleAtMostOnce() {
	db, calls, called := memstore.New(nil), 0, make(chan bool, 1)
	notify := loom.NewFlow("notify", func(ctx loom.Context, to string) (string, error) {
		_, err := loom.Do(ctx, "mail", func(ctx context.Context) (bool, error) {
			calls++
			called <- true
			<-ctx.Done() // the reply is on its way when the node stops
			return false, ctx.Err()
		}, loom.AtMostOnce())
		if errors.Is(err, loom.ErrOutcomeUnknown) {
			return "somebody should ask " + to, nil
		}
		return "sent", err
	})
	fmt.Println(interrupted(db, notify, "Ada", called))
	fmt.Println("calls:", calls)
	// Output:
	// somebody should ask Ada <nil>
	// calls: 1
}

// Verify asks the outside world what came of a call that was cut off, before anything is
// called again.
func ExampleVerify() {
	db, calls, called := memstore.New(nil), 0, make(chan bool, 1)
	booked := map[string]string{} // what the gateway knows, by key
	checkout := loom.NewFlow("checkout", func(ctx loom.Context, in Order) (string, error) {
		return loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
			calls++
			booked[loom.IdempotencyKey(ctx)] = "payment-1"
			called <- true
			<-ctx.Done() // the reply is on its way when the node stops
			return "", ctx.Err()
		}, loom.Verify(func(ctx context.Context) (string, loom.Verdict, error) {
			if payment, ok := booked[loom.IdempotencyKey(ctx)]; ok {
				return payment, loom.Done, nil
			}
			return "", loom.NotDone, nil
		}))
	})
	fmt.Println(interrupted(db, checkout, Order{"Ada", 4200}, called))
	fmt.Println("calls:", calls)
	// Output:
	// payment-1 <nil>
	// calls: 1
}

// A step that changes nothing needs no intent, and its result is all that is recorded.
func ExampleReadOnly() {
	price := loom.NewFlow("price", func(ctx loom.Context, item string) (int, error) {
		return loom.Do(ctx, "look-up", func(context.Context) (int, error) { return 30 * len(item), nil }, loom.ReadOnly())
	})
	rt := node(memstore.New(nil), loom.Flows(price))
	defer rt.Close()
	run, _ := price.Start(context.Background(), rt, "kettle", loom.ID("k"))
	fmt.Println(run.Result(context.Background()))
	fmt.Println(logged(rt, "k"))
	// Output:
	// 180 <nil>
	// [EXECUTION_STARTED EFFECT_COMPLETED EXECUTION_COMPLETED]
}

// A timeout is for one attempt: the context that the effect gets ends, and what it returns
// then counts as ErrTimeout.
func ExampleTimeout() {
	quote := loom.NewFlow("quote", func(ctx loom.Context, _ int) (string, error) {
		_, err := loom.Do(ctx, "ask", func(ctx context.Context) (string, error) {
			<-ctx.Done() // a service that hangs
			return "", ctx.Err()
		}, loom.Timeout(5*time.Millisecond))
		if errors.Is(err, loom.ErrTimeout) {
			return "no quote today", nil
		}
		return "", err
	})
	fmt.Println(outcome(quote, 0))
	// Output: no quote today <nil>
}

// An effect may ask which attempt of its step it is.
func ExampleAttempt() {
	flaky := loom.NewFlow("flaky", func(ctx loom.Context, _ int) (string, error) {
		return loom.Do(ctx, "ask", func(ctx context.Context) (string, error) {
			if n := loom.Attempt(ctx); n < 3 {
				return "", errors.New("busy")
			}
			return fmt.Sprintf("it took %d attempts", loom.Attempt(ctx)), nil
		}, loom.Retry{Attempts: 5, Initial: time.Millisecond})
	})
	fmt.Println(outcome(flaky, 0))
	// Output: it took 3 attempts <nil>
}

// The key is the same in all attempts of a step, so that a service which saw it before
// answers as before; another step has another one.
func ExampleIdempotencyKey() {
	twice := loom.NewFlow("twice", func(ctx loom.Context, _ int) (string, error) {
		keys := map[string]int{}
		for range 2 {
			_, err := loom.Do(ctx, "charge", func(ctx context.Context) (bool, error) {
				keys[loom.IdempotencyKey(ctx)]++
				if loom.Attempt(ctx) == 1 {
					return false, errors.New("the reply was lost")
				}
				return true, nil
			}, loom.Retry{Attempts: 2, Initial: time.Millisecond})
			if err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("4 calls, %d keys", len(keys)), nil
	})
	fmt.Println(outcome(twice, 0))
	// Output: 4 calls, 2 keys <nil>
}

// Permanent says that another attempt would fail as well.
func ExamplePermanent() {
	const errDeclined = loom.Code("card_declined")
	pay := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) {
		attempts := 0
		_, err := loom.Do(ctx, "charge", func(context.Context) (bool, error) {
			attempts++
			return false, loom.Permanent(errDeclined)
		}, loom.Retry{Attempts: 10, Initial: time.Hour})
		return fmt.Sprintf("declined: %v, attempts: %d", errors.Is(err, errDeclined), attempts), nil
	})
	fmt.Println(outcome(pay, 0))
	// Output: declined: true, attempts: 1 <nil>
}

// importer reads lines and fails on the way, at first. What it has done is in its progress.
var importer = loom.NewFlow("import", func(ctx loom.Context, lines int) (string, error) {
	return loom.Do(ctx, "read", func(ctx context.Context) (string, error) {
		begin, _, err := loom.LastProgress[int](ctx)
		if err != nil {
			return "", err
		}
		for line := begin; line < lines; line++ {
			if line == lines/2 && begin == 0 {
				return "", errors.New("the connection broke")
			}
			if err := loom.Progress(ctx, line+1); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("the last attempt began at line %d", begin), nil
	}, loom.Retry{Attempts: 2, Initial: time.Millisecond})
})

// What an effect records as its progress is durable when Progress returns.
func ExampleProgress() {
	rt := node(memstore.New(nil), loom.Flows(importer))
	defer rt.Close()
	run, _ := importer.Start(context.Background(), rt, 10, loom.ID("monday"))
	if _, err := run.Result(context.Background()); err != nil {
		log.Fatal(err)
	}
	state, err := rt.State(context.Background(), "monday")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s lines of 10\n", state.Op("read#1").Progress)
	// Output: 10 lines of 10
}

// The next attempt goes on from there, on whatever node it is made.
func ExampleLastProgress() {
	fmt.Println(outcome(importer, 10))
	// Output: the last attempt began at line 5 <nil>
}

// An effect, or a helper that it calls, can say whose effect it is.
func ExampleStepOf() {
	trace := func(ctx context.Context) string {
		execution, step, ok := loom.StepOf(ctx)
		return fmt.Sprint(execution, " ", step, " ", ok)
	}
	report := loom.NewFlow("report", func(ctx loom.Context, _ int) (string, error) {
		return loom.Do(ctx, "render", func(ctx context.Context) (string, error) { return trace(ctx), nil })
	})
	rt := node(memstore.New(nil), loom.Flows(report))
	defer rt.Close()
	run, _ := report.Start(context.Background(), rt, 0, loom.ID("report-7"))
	fmt.Println(run.Result(context.Background()))
	fmt.Println(trace(context.Background()))
	// Output:
	// report-7 render#1 true <nil>
	//   false
}
