package loom_test

import (
	"context"
	"log"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// node opens a runtime for an example.
func node(src store.Source, opts ...loom.Option) *loom.Runtime {
	rt, err := loom.Open(context.Background(), src, opts...)
	if err != nil {
		log.Fatal(err)
	}
	return rt
}

// interrupted runs an execution on a node that stops when its effect has been called, and
// then on a second one, to its end.
func interrupted[In, Out any](src store.Source, flow *loom.Flow[In, Out], in In, called <-chan bool) (out Out, err error) {
	ctx := context.Background()
	first := node(src, loom.Flows(flow))
	run, err := flow.Start(ctx, first, in)
	if err != nil {
		return out, err
	}
	<-called
	if err := first.Close(); err != nil {
		return out, err
	}
	second := node(src, loom.Flows(flow))
	defer second.Close()
	again, err := loom.Attach[Out](second, run.ID())
	if err != nil {
		return out, err
	}
	return again.Result(ctx)
}

// logged returns the kinds of an execution's events.
func logged(rt *loom.Runtime, id string) (all []event.Kind) {
	for e, err := range rt.Log(context.Background(), id, 0) {
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, e.Kind)
	}
	return all
}
