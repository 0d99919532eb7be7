// Package shop has flows with faults.
package shop

import (
	"context"
	"time"

	"github.com/loomwork/loom"
)

// B is in the second file.
var B = loom.NewFlow("b", func(ctx loom.Context, in int) (time.Time, error) {
	f := loom.Go(ctx, "side", func(side loom.Context) (int, error) {
		return 0, loom.Sleep(ctx, "nap", time.Second)
	})
	if _, err := f.Get(ctx); err != nil {
		return time.Time{}, err
	}
	if _, err := loom.Await[string](ctx, "go", loom.Within(time.Hour)); err != nil {
		return time.Time{}, err
	}
	_, err := loom.Do(ctx, "step", func(context.Context) (string, error) {
		return loom.NewID(ctx), nil
	}, loom.Timeout(time.Second))
	_ = loom.Now(ctx) //loom:allow
	return stamp(), err
})
