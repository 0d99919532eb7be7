package loom_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// approval is a flow that waits for a person.
var approval = loom.NewFlow("approval", func(ctx loom.Context, document string) (string, error) {
	who, err := loom.Await[string](ctx, "approve", loom.Within(72*time.Hour))
	switch {
	case errors.Is(err, loom.ErrTimeout):
		return document + " expired", nil
	case errors.Is(err, loom.ErrCancelled):
		return "", err
	}
	return document + " approved by " + who, err
})

// A message is kept until the flow asks for it, also if it comes first. Sent again under
// its id it is received once.
func ExampleRuntime_Signal() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(approval))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, _ := approval.Start(ctx, rt, "contract", loom.ID("contract-7"))
	for range 2 { // a repeated click
		if err := rt.Signal(ctx, "contract-7", "approve", "Grace", loom.MessageID("click-1")); err != nil && !errors.Is(err, loom.ErrEnded) {
			log.Fatal(err)
		}
	}
	fmt.Println(run.Result(ctx))
	// Output: contract approved by Grace <nil>
}

// A cancel is a request: the body sees it as ErrCancelled and may clean up.
func ExampleRuntime_Cancel() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(approval))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, _ := approval.Start(ctx, rt, "contract", loom.ID("contract-8"))
	if err := rt.Cancel(ctx, "contract-8", "withdrawn"); err != nil {
		log.Fatal(err)
	}
	_, err = run.Result(ctx)
	fmt.Println(errors.Is(err, loom.ErrCancelled))
	fmt.Println(err)
	// Output:
	// true
	// loom: execution contract-8 cancelled: loom: cancelled
}

// A chosen id starts once. Whoever comes second gets a typed error; who wants the first
// one's result instead writes these three lines.
func ExampleFlow_Start_once() {
	nightly := loom.NewFlow("nightly", func(ctx loom.Context, day string) (string, error) {
		return loom.Do(ctx, "report", func(context.Context) (string, error) { return "report of " + day, nil })
	})
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(nightly))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	for range 2 { // two schedulers fire
		run, err := nightly.Start(ctx, rt, "Monday", loom.ID("nightly-monday"))
		var exists *loom.ExecutionAlreadyExistsError
		if errors.As(err, &exists) {
			fmt.Println("already there, the same request:", exists.SameRequest)
			run, err = loom.Attach[string](rt, "nightly-monday")
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.Result(ctx))
	}
	// Output:
	// report of Monday <nil>
	// already there, the same request: true
	// report of Monday <nil>
}

// Attach gives a handle to an execution that another process may have started.
func ExampleAttach() {
	db := memstore.New(nil)
	ctx := context.Background()
	worker, err := loom.Open(ctx, db, loom.Flows(approval))
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Close()
	client, err := loom.Open(ctx, db, loom.Tuning{ClientOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	if _, err := approval.Start(ctx, client, "invoice", loom.ID("invoice-1")); err != nil {
		log.Fatal(err)
	}
	run, err := loom.Attach[string](client, "invoice-1")
	if err != nil {
		log.Fatal(err)
	}
	if err := run.Signal(ctx, "approve", "Alan"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: invoice approved by Alan <nil>
}

// The log of an execution can be followed while it runs: each durable event, once, in order.
func ExampleRuntime_Follow() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(approval))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	if _, err := approval.Start(ctx, rt, "contract", loom.ID("c")); err != nil {
		log.Fatal(err)
	}
	for e, err := range rt.Follow(ctx, "c", 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.ID(), e.Kind)
		if e.Kind == event.KindMessageAwaited {
			if err := rt.Signal(ctx, "c", "approve", "Grace"); err != nil {
				log.Fatal(err)
			}
		}
	}
	// Output:
	// c-0 EXECUTION_STARTED
	// c-1 MESSAGE_AWAITED
	// c-2 MESSAGE_RECEIVED
	// c-3 EXECUTION_COMPLETED
}

// Executions are listed by what their logs say, newest first.
func ExampleRuntime_List() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(approval))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	for _, id := range []string{"a", "b", "c"} {
		run, err := approval.Start(ctx, rt, id, loom.ID(id), loom.Labels(map[string]string{"team": "legal"}))
		if err != nil {
			log.Fatal(err)
		}
		if id == "b" {
			if err := run.Signal(ctx, "approve", "Ada"); err != nil {
				log.Fatal(err)
			}
			if _, err := run.Result(ctx); err != nil {
				log.Fatal(err)
			}
		}
	}
	for s, err := range rt.List(ctx, loom.Filter{Status: fold.Running, Labels: map[string]string{"team": "legal"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.ID, s.Flow, s.Status)
	}
	// Output:
	// c approval running
	// a approval running
}

// Hooks hear of events early; what they were told of is durable once OnDurable says so.
func ExampleHooks() {
	ctx := context.Background()
	durable := make(chan event.Envelope, 8)
	quick := loom.NewFlow("quick", func(loom.Context, int) (int, error) { return 1, nil })
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(quick),
		loom.Hooks{OnDurable: func(e event.Envelope) { durable <- e }})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	if _, err := quick.Start(ctx, rt, 0, loom.ID("q")); err != nil {
		log.Fatal(err)
	}
	fmt.Println((<-durable).Kind, (<-durable).Kind)
	// Output: EXECUTION_STARTED EXECUTION_COMPLETED
}

// refund is a flow that says what it is at.
var refund = loom.NewFlow("refund", func(ctx loom.Context, cents int) (int, error) {
	if err := errors.Join(loom.Set(ctx, "stage", "waiting for approval"), loom.Set(ctx, "cents", cents)); err != nil {
		return 0, err
	}
	if _, err := loom.Await[string](ctx, "approve"); err != nil {
		return 0, err
	}
	return cents, loom.Set(ctx, "stage", "paid back")
})

// What an execution shows of itself is in lists, and searches find it.
func ExampleSet() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(refund))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	for id, cents := range map[string]int{"a": 500, "b": 900} {
		run, err := refund.Start(ctx, rt, cents, loom.ID(id))
		if err != nil {
			log.Fatal(err)
		}
		if id == "a" {
			if err := run.Signal(ctx, "approve", "Ada"); err != nil {
				log.Fatal(err)
			}
			if _, err := run.Result(ctx); err != nil {
				log.Fatal(err)
			}
		}
	}
	for s, err := range rt.List(ctx, loom.Filter{Published: map[string]string{"stage": "paid back"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.ID, s.Published["stage"], s.Published["cents"])
	}
	// Output:
	// a paid back 500
}
