package loom_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// greeter is a flow that greets whoever is named to it, twice.
var greeter = loom.NewFlow("greeter", func(ctx loom.Context, greeting string) (string, error) {
	first, err := loom.Await[string](ctx, "name")
	if err != nil {
		return "", err
	}
	second, err := loom.Await[string](ctx, "name")
	return greeting + " " + first + " and " + second, err
})

// A start can bring messages with it: there is no moment at which there is one without the
// other.
func ExampleWithSignal() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(greeter))
	defer rt.Close()
	run, err := greeter.Start(ctx, rt, "hello", loom.WithSignal("name", "Ada"), loom.WithSignal("name", "Ben"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: hello Ada and Ben <nil>
}

// Whoever comes first starts it; the other one's message goes to what is there.
func ExampleFlow_SignalWithStart() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(greeter))
	defer rt.Close()
	for _, name := range []string{"Ada", "Ben"} {
		run, started, err := greeter.SignalWithStart(ctx, rt, "greet-1", "hello", "name", name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.ID(), "started:", started)
	}
	run, err := loom.Attach[string](rt, "greet-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output:
	// greet-1 started: true
	// greet-1 started: false
	// hello Ada and Ben <nil>
}

// What nobody has received waits; of an execution that has ended, it stays.
func ExampleRuntime_Pending() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(greeter))
	defer rt.Close()
	run, err := greeter.Start(ctx, rt, "hello", loom.WithSignal("name", "Ada"), loom.WithSignal("name", "Ben"), loom.WithSignal("name", "Cy"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	for m, err := range rt.Pending(ctx, run.ID()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("left:", m.Name, string(m.Body))
	}
	// Output:
	// hello Ada and Ben <nil>
	// left: name "Cy"
}

// till is a flow that tells what things cost until it is closed.
var till = loom.NewFlow("till", func(ctx loom.Context, open map[string]int) (string, error) {
	loom.Go(ctx, "serving", func(ctx loom.Context) (bool, error) {
		return true, loom.Serve(ctx, "price", func(ctx loom.Context, thing string) (int, error) {
			cents, ok := open[thing]
			if !ok {
				return 0, fmt.Errorf("no %s today", thing)
			}
			return cents, nil
		})
	})
	return loom.Await[string](ctx, "close")
})

// A body answers requests beside whatever else it does.
func ExampleServe() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(till))
	defer rt.Close()
	run, err := till.Start(ctx, rt, map[string]int{"tea": 250})
	if err != nil {
		log.Fatal(err)
	}
	for _, thing := range []string{"tea", "cake"} {
		cents, err := loom.Ask[string, int](ctx, rt, run.ID(), "price", thing)
		fmt.Println(thing, cents, err)
	}
	// Output:
	// tea 250 <nil>
	// cake 0 no cake today
}

// A request has one answer, under its message id also for who asks again; and if the
// execution ends without one, that is an answer too.
func ExampleAsk() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(till))
	defer rt.Close()
	run, err := till.Start(ctx, rt, map[string]int{"tea": 250})
	if err != nil {
		log.Fatal(err)
	}
	price := func(request string) (int, error) {
		return loom.Ask[string, int](ctx, rt, run.ID(), "price", "tea", loom.MessageID(request))
	}
	fmt.Println(price("request-1"))
	if err := run.Signal(ctx, "close", "good night"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	fmt.Println(price("request-1"))
	_, err = price("request-2")
	fmt.Println(errors.Is(err, loom.ErrEnded))
	// Output:
	// 250 <nil>
	// good night <nil>
	// 250 <nil>
	// true
}
