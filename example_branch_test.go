package loom_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom"
)

// nap returns a branch that sleeps for d and returns its own name.
func nap(ctx loom.Context, name string, d time.Duration) *loom.Future[string] {
	return loom.Go(ctx, name, func(ctx loom.Context) (string, error) {
		return name, loom.Sleep(ctx, "nap", d)
	})
}

// A branch is a part of a body that goes on beside the others. Only one runs at a time, and
// control passes inside verbs alone, so the counter needs no lock.
func ExampleGo() {
	count := loom.NewFlow("count", func(ctx loom.Context, n int) (int, error) {
		letters := 0
		var branches []*loom.Future[bool]
		for range n {
			branches = append(branches, loom.Go(ctx, "branch", func(ctx loom.Context) (bool, error) {
				word, err := loom.Do(ctx, "read", func(context.Context) (string, error) { return "loom", nil })
				letters += len(word)
				return true, err
			}))
		}
		_, err := loom.All(ctx, branches...)
		return letters, err
	})
	fmt.Println(outcome(count, 5))
	// Output: 20 <nil>
}

// Get waits for a branch. It may be asked again.
func ExampleFuture_Get() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
		a, b := nap(ctx, "tea", 2*time.Millisecond), nap(ctx, "cake", time.Millisecond)
		tea, err := a.Get(ctx)
		if err != nil {
			return "", err
		}
		cake, err := b.Get(ctx)
		return tea + " and " + cake, err
	})
	fmt.Println(outcome(flow, 0))
	// Output: tea and cake <nil>
}

// Done tells whether a branch has ended, without waiting.
func ExampleFuture_Done() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
		branch := nap(ctx, "branch", time.Millisecond)
		before := branch.Done()
		if _, err := branch.Get(ctx); err != nil {
			return "", err
		}
		return fmt.Sprint(before, " ", branch.Done()), nil
	})
	fmt.Println(outcome(flow, 0))
	// Output: false true <nil>
}

// A cancelled branch gets ErrCancelled from what it waits for, and may still say something.
func ExampleFuture_Cancel() {
	flow := loom.NewFlow("flow", func(ctx loom.Context, _ int) (string, error) {
		watch := loom.Go(ctx, "watch", func(ctx loom.Context) (string, error) {
			if err := loom.Sleep(ctx, "hour", time.Hour); errors.Is(err, loom.ErrCancelled) {
				return "called off", nil
			}
			return "an hour passed", nil
		})
		if err := watch.Cancel(ctx); err != nil {
			return "", err
		}
		return watch.Get(ctx)
	})
	fmt.Println(outcome(flow, 0))
	// Output: called off <nil>
}
