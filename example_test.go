package loom_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// Order is what the examples sell.
type Order struct {
	Customer string
	Cents    int
}

// A whole program: a flow, a runtime, an execution and its result. With another store
// than one in memory the execution would survive this process.
func Example() {
	greet := loom.NewFlow("greet", func(ctx loom.Context, name string) (string, error) {
		return loom.Do(ctx, "compose", func(context.Context) (string, error) {
			return "Hello, " + name + "!", nil
		})
	})

	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(greet))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	run, err := greet.Start(ctx, rt, "Ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: Hello, Ada! <nil>
}

// A step is an effect on the outside world. Its idempotency key is the same for every
// attempt and after every crash, so the payment service can tell a repeat from a new order.
func ExampleDo() {
	charge := func(_ context.Context, cents int, key string) (string, error) {
		return fmt.Sprintf("charged %d under a key of %d letters", cents, len(key)), nil
	}
	checkout := loom.NewFlow("checkout", func(ctx loom.Context, in Order) (string, error) {
		return loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
			return charge(ctx, in.Cents, loom.IdempotencyKey(ctx))
		}, loom.Args(in.Cents), loom.Timeout(10*time.Second))
	})
	fmt.Println(outcome(checkout, Order{"Ada", 4200}))
	// Output: charged 4200 under a key of 26 letters <nil>
}

// A failed attempt is recorded, with the time of the next one; both survive a crash.
// Permanent ends the retries early.
func ExampleRetry() {
	const errDeclined = loom.Code("card_declined")
	checkout := loom.NewFlow("checkout", func(ctx loom.Context, in Order) (string, error) {
		_, err := loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
			if loom.Attempt(ctx) < 3 {
				return "", errors.New("the gateway is busy")
			}
			return "", loom.Permanent(fmt.Errorf("card of %s: %w", in.Customer, errDeclined))
		}, loom.Retry{Attempts: 10, Initial: time.Millisecond})
		if errors.Is(err, errDeclined) {
			return "please use another card", nil
		}
		return "paid", err
	})
	fmt.Println(outcome(checkout, Order{"Ada", 4200}))
	// Output: please use another card <nil>
}

// A sleep may last for weeks: the body is unloaded meanwhile, and no restart shortens it
// or makes it longer.
func ExampleSleep() {
	trial := loom.NewFlow("trial", func(ctx loom.Context, days int) (string, error) {
		began := loom.Now(ctx)
		if err := loom.Sleep(ctx, "trial", time.Duration(days)*time.Millisecond); err != nil {
			return "", err
		}
		if loom.Now(ctx).Sub(began) < time.Duration(days)*time.Millisecond {
			return "too early", nil
		}
		return "the trial is over", nil
	})
	fmt.Println(outcome(trial, 14))
	// Output: the trial is over <nil>
}

// Branches run beside each other; All waits for all of them.
func ExampleAll() {
	report := loom.NewFlow("report", func(ctx loom.Context, cities []string) (int, error) {
		var lookups []*loom.Future[int]
		for _, city := range cities {
			lookups = append(lookups, loom.Go(ctx, "lookup", func(ctx loom.Context) (int, error) {
				return loom.Do(ctx, "letters", func(context.Context) (int, error) { return len(city), nil }, loom.ReadOnly())
			}))
		}
		letters, err := loom.All(ctx, lookups...)
		total := 0
		for _, n := range letters {
			total += n
		}
		return total, err
	})
	fmt.Println(outcome(report, []string{"Paris", "Rome", "Lima"}))
	// Output: 13 <nil>
}

// First tells which of several branches ended first; the others can be asked to give way.
func ExampleFirst() {
	quote := loom.NewFlow("quote", func(ctx loom.Context, _ int) (string, error) {
		ask := func(who string, takes time.Duration) *loom.Future[string] {
			return loom.Go(ctx, who, func(ctx loom.Context) (string, error) {
				return who, loom.Sleep(ctx, "think", takes)
			})
		}
		offers := []*loom.Future[string]{ask("slow", time.Hour), ask("quick", time.Millisecond)}
		i, err := loom.First(ctx, offers...)
		if err != nil {
			return "", err
		}
		for _, offer := range offers {
			if err := offer.Cancel(ctx); err != nil {
				return "", err
			}
		}
		return offers[i].Get(ctx)
	})
	fmt.Println(outcome(quote, 0))
	// Output: quick <nil>
}

// outcome runs one execution of a flow to its end.
func outcome[In, Out any](flow *loom.Flow[In, Out], in In) (out Out, err error) {
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(flow))
	if err != nil {
		return out, err
	}
	defer rt.Close()
	run, err := flow.Start(ctx, rt, in)
	if err != nil {
		return out, err
	}
	return run.Result(ctx)
}
