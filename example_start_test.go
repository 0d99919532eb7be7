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

// hello is a flow with one step.
var hello = loom.NewFlow("hello", func(ctx loom.Context, name string) (string, error) {
	return loom.Do(ctx, "compose", func(context.Context) (string, error) { return "Hello, " + name + "!", nil })
})

// A flow is a name and a function; its executions are found again by the name.
func ExampleNewFlow() {
	shout := loom.NewFlow("shout", func(ctx loom.Context, text string) (string, error) {
		return loom.Do(ctx, "louder", func(context.Context) (string, error) { return text + "!", nil })
	})
	fmt.Println(outcome(shout, "tea"))
	// Output: tea! <nil>
}

// Name is what the flow was called.
func ExampleFlow_Name() {
	fmt.Println(hello.Name())
	// Output: hello
}

// Start begins an execution. Without an ID it gets a new one.
func ExampleFlow_Start() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(hello))
	defer rt.Close()
	run, err := hello.Start(ctx, rt, "Ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: Hello, Ada! <nil>
}

// A chosen id starts once, whoever asks.
func ExampleID() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(hello))
	defer rt.Close()
	for _, name := range []string{"Ada", "Grace"} {
		_, err := hello.Start(ctx, rt, name, loom.ID("greeting-1"))
		fmt.Println(name, "is refused:", errors.Is(err, loom.ErrAlreadyExists))
	}
	// Output:
	// Ada is refused: false
	// Grace is refused: true
}

// A delayed execution is written down now and begins later.
func ExampleDelay() {
	clock := loom.NewFlow("clock", func(ctx loom.Context, _ int) (time.Time, error) {
		return loom.Do(ctx, "look", func(context.Context) (time.Time, error) { return time.Now(), nil })
	})
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(clock))
	defer rt.Close()
	asked := time.Now()
	run, _ := clock.Start(ctx, rt, 0, loom.ID("later"), loom.Delay(20*time.Millisecond))
	began, err := run.Result(ctx)
	fmt.Println("too early:", began.Sub(asked) < 20*time.Millisecond, err)
	// Output: too early: false <nil>
}

// An execution that is not done at its deadline is cancelled, and its error says why.
func ExampleDeadline() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(approval))
	defer rt.Close()
	run, _ := approval.Start(ctx, rt, "contract", loom.Deadline(time.Now().Add(5*time.Millisecond)))
	_, err := run.Result(ctx)
	fmt.Println(errors.Is(err, loom.ErrDeadline))
	// Output: true
}

// Labels are for finding executions again.
func ExampleLabels() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(approval))
	defer rt.Close()
	for id, customer := range map[string]string{"a": "ann", "b": "bob"} {
		if _, err := approval.Start(ctx, rt, "contract", loom.ID(id), loom.Labels(map[string]string{"customer": customer})); err != nil {
			log.Fatal(err)
		}
	}
	for s, err := range rt.List(ctx, loom.Filter{Labels: map[string]string{"customer": "bob"}}) {
		fmt.Println(s.ID, s.Labels, err)
	}
	// Output: b map[customer:bob] <nil>
}

// Metadata goes with the first event, for people and tools; nothing is searched by it.
func ExampleMetadata() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(hello))
	defer rt.Close()
	if _, err := hello.Start(ctx, rt, "Ada", loom.ID("greeting-1"), loom.Metadata(map[string]string{"request": "r-17"})); err != nil {
		log.Fatal(err)
	}
	for e, err := range rt.Log(ctx, "greeting-1", 0) {
		if err == nil && e.Kind == event.KindExecutionStarted {
			fmt.Println(string(e.Meta))
		}
	}
	// Output: {"request":"r-17"}
}

// A message that is sent twice under its id is received once: here the second wait gets
// the second message and not a copy of the first.
func ExampleMessageID() {
	sum := loom.NewFlow("sum", func(ctx loom.Context, n int) (total int, err error) {
		for range n {
			cents, err := loom.Await[int](ctx, "payment")
			if err != nil {
				return 0, err
			}
			total += cents
		}
		return total, nil
	})
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(sum))
	defer rt.Close()
	run, _ := sum.Start(ctx, rt, 2, loom.ID("invoice-1"))
	for _, id := range []string{"payment-1", "payment-1"} { // the sender tries again
		if err := run.Signal(ctx, "payment", 100, loom.MessageID(id)); err != nil {
			log.Fatal(err)
		}
	}
	if err := run.Signal(ctx, "payment", 20, loom.MessageID("payment-2")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: 120 <nil>
}
