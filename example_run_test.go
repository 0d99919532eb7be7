package loom_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// contract starts the flow approval on a node of its own.
func contract(id string) (*loom.Runtime, *loom.Run[string]) {
	rt := node(memstore.New(nil), loom.Flows(approval))
	run, err := approval.Start(context.Background(), rt, "contract", loom.ID(id))
	if err != nil {
		log.Fatal(err)
	}
	return rt, run
}

// Result waits for the end, and may be asked as often as one likes.
func ExampleRun_Result() {
	rt, run := contract("contract-1")
	defer rt.Close()
	if err := run.Signal(context.Background(), "approve", "Ada"); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		fmt.Println(run.Result(context.Background()))
	}
	// Output:
	// contract approved by Ada <nil>
	// contract approved by Ada <nil>
}

// Signal sends a message. An execution that has ended takes none.
func ExampleRun_Signal() {
	rt, run := contract("contract-1")
	defer rt.Close()
	fmt.Println(run.Signal(context.Background(), "approve", "Ada"))
	if _, err := run.Result(context.Background()); err != nil {
		log.Fatal(err)
	}
	err := run.Signal(context.Background(), "approve", "Grace")
	fmt.Println("too late:", errors.Is(err, loom.ErrEnded))
	// Output:
	// <nil>
	// too late: true
}

// Cancel asks; the body decides what becomes of it.
func ExampleRun_Cancel() {
	rt, run := contract("contract-1")
	defer rt.Close()
	if err := run.Cancel(context.Background(), "withdrawn"); err != nil {
		log.Fatal(err)
	}
	_, err := run.Result(context.Background())
	fmt.Println(errors.Is(err, loom.ErrCancelled))
	// Output: true
}

// Terminate does not ask: nothing is cleaned up.
func ExampleRun_Terminate() {
	rt, run := contract("contract-1")
	defer rt.Close()
	if err := run.Terminate(context.Background(), "it hangs"); err != nil {
		log.Fatal(err)
	}
	_, err := run.Result(context.Background())
	fmt.Println(errors.Is(err, loom.ErrTerminated))
	// Output: true
}

// An execution without a chosen id is started before it is durable. Who hands its id on
// waits first.
func ExampleRun_Durable() {
	ctx := context.Background()
	db := memstore.New(nil)
	rt := node(db, loom.Flows(approval))
	defer rt.Close()
	run, _ := approval.Start(ctx, rt, "contract")
	if err := run.Durable(ctx); err != nil {
		log.Fatal(err)
	}
	other := node(db, loom.Tuning{ClientOnly: true})
	defer other.Close()
	_, err := other.Summary(ctx, run.ID())
	fmt.Println("others see it:", err == nil)
	// Output: others see it: true
}

// ID is how others find the execution.
func ExampleRun_ID() {
	rt, run := contract("contract-1")
	defer rt.Close()
	fmt.Println(run.ID())
	// Output: contract-1
}

// Terminate ends an execution at once, and its reason is in the error.
func ExampleRuntime_Terminate() {
	rt, run := contract("contract-9")
	defer rt.Close()
	if err := rt.Terminate(context.Background(), "contract-9", "it hangs"); err != nil {
		log.Fatal(err)
	}
	_, err := run.Result(context.Background())
	fmt.Println(err)
	// Output: loom: execution contract-9 terminated: it hangs
}

// Log reads what is durable now; Follow waits for more.
func ExampleRuntime_Log() {
	rt, run := contract("contract-1")
	defer rt.Close()
	if err := run.Signal(context.Background(), "approve", "Ada"); err != nil {
		log.Fatal(err)
	}
	if _, err := run.Result(context.Background()); err != nil {
		log.Fatal(err)
	}
	for e, err := range rt.Log(context.Background(), "contract-1", 2) {
		fmt.Println(e.Sequence, e.Kind, err)
	}
	// Output:
	// 2 MESSAGE_RECEIVED <nil>
	// 3 EXECUTION_COMPLETED <nil>
}

// State is what a log says, put together.
func ExampleRuntime_State() {
	rt, run := contract("contract-1")
	defer rt.Close()
	if err := run.Signal(context.Background(), "approve", "Ada"); err != nil {
		log.Fatal(err)
	}
	if _, err := run.Result(context.Background()); err != nil {
		log.Fatal(err)
	}
	state, err := rt.State(context.Background(), "contract-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s: %s -> %s\n", state.Flow, state.Status, state.Input, state.Result)
	// Output: approval completed: "contract" -> "contract approved by Ada"
}

// Summary is one line of what List gives.
func ExampleRuntime_Summary() {
	rt, _ := contract("contract-1")
	defer rt.Close()
	s, err := rt.Summary(context.Background(), "contract-1")
	fmt.Println(s.ID, s.Flow, s.Status, err)
	// Output: contract-1 approval running <nil>
}

// Filter selects by flow, status, labels, or the beginning of the id.
func ExampleFilter() {
	rt, _ := contract("contract-1")
	defer rt.Close()
	if _, err := approval.Start(context.Background(), rt, "invoice", loom.ID("invoice-1")); err != nil {
		log.Fatal(err)
	}
	for s, err := range rt.List(context.Background(), loom.Filter{Flow: "approval", Prefix: "inv"}) {
		fmt.Println(s.ID, err)
	}
	// Output: invoice-1 <nil>
}
