package loom_test

import (
	"context"
	"fmt"
	"log"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// The old version of a body stays registered until its last execution has ended.
func ExampleFlowVersion() {
	ctx := context.Background()
	greeting := func(word string) func(loom.Context, string) (string, error) {
		return func(ctx loom.Context, name string) (string, error) {
			if _, err := loom.Await[bool](ctx, "go"); err != nil {
				return "", err
			}
			return word + ", " + name, nil
		}
	}
	old := loom.NewFlow("greet", greeting("Hello"), loom.FlowVersion("2025"))
	now := loom.NewFlow("greet", greeting("Good day"), loom.FlowVersion("2026"))
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(old, now))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	for id, flow := range map[string]*loom.Flow[string, string]{"begun-last-year": old, "begun-today": now} {
		if _, err := flow.Start(ctx, rt, "Ada", loom.ID(id)); err != nil {
			log.Fatal(err)
		}
	}
	for _, id := range []string{"begun-last-year", "begun-today"} {
		if err := rt.Signal(ctx, id, "go", true); err != nil {
			log.Fatal(err)
		}
		run, err := loom.Attach[string](rt, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.Result(ctx))
	}
	// Output:
	// Hello, Ada <nil>
	// Good day, Ada <nil>
}

// A flow knows its version; one without the option has none.
func ExampleFlow_Version() {
	body := func(loom.Context, int) (int, error) { return 0, nil }
	fmt.Printf("%q %q\n", loom.NewFlow("tidy", body).Version(), loom.NewFlow("tidy", body, loom.FlowVersion("v2")).Version())
	// Output: "" "v2"
}

// A paused execution does nothing, whatever comes, until it is resumed.
func ExampleRuntime_Pause() {
	ctx := context.Background()
	ship := loom.NewFlow("ship", func(ctx loom.Context, _ string) (string, error) {
		return loom.Await[string](ctx, "address")
	})
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(ship))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	if _, err := ship.Start(ctx, rt, "a parcel", loom.ID("p")); err != nil {
		log.Fatal(err)
	}
	if err := rt.Pause(ctx, "p", "the address is being checked"); err != nil {
		log.Fatal(err)
	}
	if err := rt.Signal(ctx, "p", "address", "1 Lane"); err != nil {
		log.Fatal(err)
	}
	s, err := rt.State(ctx, "p")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Status, "because", s.Paused.Reason)
	// Output: paused because the address is being checked
}

// What came while the execution was paused is received once it is resumed.
func ExampleRuntime_Resume() {
	ctx := context.Background()
	ship := loom.NewFlow("ship", func(ctx loom.Context, _ string) (string, error) {
		return loom.Await[string](ctx, "address")
	})
	rt, err := loom.Open(ctx, memstore.New(nil), loom.Flows(ship))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := ship.Start(ctx, rt, "a parcel", loom.ID("p"))
	if err != nil {
		log.Fatal(err)
	}
	if err := rt.Pause(ctx, "p", ""); err != nil {
		log.Fatal(err)
	}
	if err := rt.Signal(ctx, "p", "address", "1 Lane"); err != nil {
		log.Fatal(err)
	}
	if err := rt.Resume(ctx, "p", ""); err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
	// Output: 1 Lane <nil>
}
