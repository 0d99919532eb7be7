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

// Open makes this process a node: it drives whatever its flows have left to do.
func ExampleOpen() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(hello), loom.Tuning{Unload: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := hello.Start(ctx, rt, "Ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: Hello, Ada! <nil>
}

// A node drives the flows that it was given, and leaves others to other nodes. Names are
// unique.
func ExampleFlows() {
	_, err := loom.Open(context.Background(), memstore.New(nil), loom.Flows(hello, approval, hello))
	fmt.Println(err)
	// Output: loom: two flows are called "hello"
}

// The logger gets what flows and the node itself have to say. The default is silence.
func ExampleWithLogger() {
	rt := node(memstore.New(nil), loom.Flows(hello), loom.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	fmt.Println(rt.Close())
	// Output: <nil>
}

// A program that only starts and signals drives nothing: here nobody does.
func ExampleTuning() {
	ctx := context.Background()
	client := node(memstore.New(nil), loom.Tuning{ClientOnly: true})
	defer client.Close()
	if _, err := hello.Start(ctx, client, "Ada", loom.ID("greeting-1")); err != nil {
		log.Fatal(err)
	}
	s, err := client.Summary(ctx, "greeting-1")
	fmt.Printf("%s, driven by %q %v\n", s.Status, s.Owner, err)
	// Output: running, driven by "" <nil>
}

// Close hands over what is running. The next node goes on with it at once.
func ExampleRuntime_Close() {
	ctx := context.Background()
	db := memstore.New(nil)
	first := node(db, loom.Flows(approval))
	if _, err := approval.Start(ctx, first, "contract", loom.ID("contract-1")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Close())
	fmt.Println(errors.Is(first.Signal(ctx, "contract-1", "approve", "Ada"), loom.ErrClosed))

	second := node(db, loom.Flows(approval))
	defer second.Close()
	if err := second.Signal(ctx, "contract-1", "approve", "Ada"); err != nil {
		log.Fatal(err)
	}
	run, _ := loom.Attach[string](second, "contract-1")
	fmt.Println(run.Result(ctx))
	// Output:
	// <nil>
	// true
	// contract approved by Ada <nil>
}

// Replay tells whether today's code still fits a log, without calling anything. This code
// has lost a step.
func ExampleReplay() {
	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(hello))
	defer rt.Close()
	run, _ := hello.Start(ctx, rt, "Ada", loom.ID("greeting-1"))
	if _, err := run.Result(ctx); err != nil {
		log.Fatal(err)
	}
	report, err := loom.Replay(ctx, rt.Log(ctx, "greeting-1", 0), hello)
	fmt.Println(report.Events, "events,", report.Status, err)

	changed := loom.NewFlow("hello", func(_ loom.Context, name string) (string, error) { return "Hello, " + name + "!", nil })
	_, err = loom.Replay(ctx, rt.Log(ctx, "greeting-1", 0), changed)
	var diverged *loom.DivergedError
	if errors.As(err, &diverged) {
		fmt.Println("recorded:", diverged.Recorded)
		fmt.Println("asked:", diverged.Asked)
	}
	// Output:
	// 4 events, completed <nil>
	// recorded: EFFECT_SCHEDULED compose#1
	// asked: EXECUTION_COMPLETED
}
