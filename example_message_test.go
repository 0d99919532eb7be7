package loom_test

import (
	"context"
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
