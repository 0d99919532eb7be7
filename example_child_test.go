package loom_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// parcel is a flow of its own. Others start it as their child.
var parcel = loom.NewFlow("parcel", func(ctx loom.Context, item string) (string, error) {
	return loom.Do(ctx, "pack", func(context.Context) (string, error) { return "a parcel with " + item, nil })
})

// parent runs one execution of a flow, called order-1, beside the flow parcel.
func parent(flow *loom.Flow[string, string]) {
	rt := node(memstore.New(nil), loom.Flows(flow, parcel))
	defer rt.Close()
	run, err := flow.Start(context.Background(), rt, "tea", loom.ID("order-1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(context.Background()))
}

// Child starts another flow and waits for its result. It has a log of its own.
func ExampleFlow_Child() {
	parent(loom.NewFlow("order", func(ctx loom.Context, item string) (string, error) {
		return parcel.Child(ctx, item)
	}))
	// Output: a parcel with tea <nil>
}

// Spawn starts a child and goes on: the two work at the same time.
func ExampleFlow_Spawn() {
	parent(loom.NewFlow("order", func(ctx loom.Context, item string) (string, error) {
		first, err := parcel.Spawn(ctx, item)
		if err != nil {
			return "", err
		}
		second, err := parcel.Child(ctx, "cake")
		if err != nil {
			return "", err
		}
		result, err := first.Get(ctx)
		return result + ", " + second, err
	}))
	// Output: a parcel with tea, a parcel with cake <nil>
}

// Get returns what the child returned.
func ExampleChild_Get() {
	parent(loom.NewFlow("order", func(ctx loom.Context, item string) (string, error) {
		var children []*loom.Child[string]
		for range 3 {
			c, err := parcel.Spawn(ctx, item)
			if err != nil {
				return "", err
			}
			children = append(children, c)
		}
		parcels := 0
		for _, c := range children {
			if _, err := c.Get(ctx); err != nil {
				return "", err
			}
			parcels++
		}
		return fmt.Sprint(parcels, " parcels"), nil
	}))
	// Output: 3 parcels <nil>
}

// A child has an id, made from its parent's unless one is chosen.
func ExampleChild_ID() {
	parent(loom.NewFlow("order", func(ctx loom.Context, item string) (string, error) {
		c, err := parcel.Spawn(ctx, item, loom.ID("parcel-of-order-1"))
		if err != nil {
			return "", err
		}
		return c.ID(), nil
	}))
	// Output: parcel-of-order-1 <nil>
}

// By default a cancel reaches the children too. This one is left alone: the parent is
// cancelled, and the child finishes.
func ExampleOnParentCancel() {
	slow := loom.NewFlow("slow", func(ctx loom.Context, item string) (string, error) {
		return item + " is done", loom.Sleep(ctx, "a-while", 5*time.Millisecond)
	})
	spawned := make(chan bool, 1)
	boss := loom.NewFlow("boss", func(ctx loom.Context, item string) (string, error) {
		c, err := slow.Spawn(ctx, item, loom.ID("the-child"), loom.OnParentCancel(loom.Abandon))
		if err != nil {
			return "", err
		}
		if _, err := loom.Do(ctx, "tell", func(context.Context) (bool, error) { spawned <- true; return true, nil }); err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "hour", time.Hour); err != nil {
			return "", err
		}
		return c.Get(ctx)
	})

	ctx := context.Background()
	rt := node(memstore.New(nil), loom.Flows(boss, slow))
	defer rt.Close()
	run, _ := boss.Start(ctx, rt, "the report", loom.ID("the-parent"))
	<-spawned
	if err := run.Cancel(ctx, "no longer needed"); err != nil {
		log.Fatal(err)
	}
	_, err := run.Result(ctx)
	fmt.Println(err)
	child, _ := loom.Attach[string](rt, "the-child")
	fmt.Println(child.Result(ctx))
	// Output:
	// loom: execution the-parent cancelled: loom: cancelled
	// the report is done <nil>
}
