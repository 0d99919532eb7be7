package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/loomwork/loom"
)

type raw = json.RawMessage

var (
	inEffect = make(chan struct{}) // closed when the effect of block was called
	release  = make(chan struct{}) // closed to let it return
	entered  sync.Once
	left     sync.Once
)

func letGo() { left.Do(func() { close(release) }) }

// resuming says that this process goes on with what another one left: block returns.
var resuming bool

var workerFlows = []*loom.Flow[raw, raw]{
	// greet has two effects and a timer.
	loom.NewFlow("greet", func(ctx loom.Context, in raw) (raw, error) {
		if _, err := loom.Do(ctx, "look-up", func(context.Context) (string, error) { return "hello", nil }, loom.Args(in)); err != nil {
			return nil, err
		}
		if err := loom.Sleep(ctx, "pause", time.Millisecond); err != nil {
			return nil, err
		}
		return loom.Do(ctx, "greet", func(context.Context) (raw, error) { return raw(`{"greeting":"hello"}`), nil })
	}),
	// approval waits for a message and returns it.
	loom.NewFlow("approval", func(ctx loom.Context, in raw) (raw, error) {
		return loom.Await[raw](ctx, "approval")
	}),
	// shows shows what it is at, and on two lines what it was given.
	loom.NewFlow("shows", func(ctx loom.Context, in raw) (raw, error) {
		if err := errors.Join(loom.Set(ctx, "stage", "new"), loom.Set(ctx, "cents", 900), loom.Set(ctx, "left", true)); err != nil {
			return nil, err
		}
		if err := loom.Sleep(ctx, "pause", time.Millisecond); err != nil {
			return nil, err
		}
		if string(in) == `"paid"` {
			return in, errors.Join(loom.Set(ctx, "stage", in), loom.Set(ctx, "left", nil))
		}
		return in, loom.Set(ctx, "stage", "not\npaid")
	}),
	// relay calls an effect for each "go" message until one is "stop".
	loom.NewFlow("relay", func(ctx loom.Context, in raw) (raw, error) {
		for {
			word, err := loom.Await[string](ctx, "go")
			if err != nil {
				return nil, err
			}
			if word == "stop" {
				return raw(`"stopped"`), nil
			}
			if _, err := loom.Do(ctx, "step", func(context.Context) (string, error) { return word, nil }); err != nil {
				return nil, err
			}
		}
	}),
	// fails has an effect that fails twice.
	loom.NewFlow("fails", func(ctx loom.Context, in raw) (raw, error) {
		return loom.Do(ctx, "charge", func(context.Context) (raw, error) {
			return nil, errors.New("the card was refused")
		}, loom.Retry{Attempts: 2, Initial: time.Millisecond})
	}),
	// block is in an effect until the process lets go of it, or goes on with it.
	loom.NewFlow("block", func(ctx loom.Context, in raw) (raw, error) {
		return loom.Do(ctx, "block", func(ctx context.Context) (raw, error) {
			if resuming {
				return raw(`"done"`), nil
			}
			entered.Do(func() { close(inEffect) })
			select {
			case <-release:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			return raw(`"done"`), nil
		})
	}),
}

func anyFlows() (fs []loom.AnyFlow) {
	for _, f := range workerFlows {
		fs = append(fs, f)
	}
	return fs
}

// brokenGreet asks for another effect than greet does.
var brokenGreet = loom.NewFlow("greet", func(ctx loom.Context, in raw) (raw, error) {
	return loom.Do(ctx, "find", func(context.Context) (raw, error) { return in, nil })
})
