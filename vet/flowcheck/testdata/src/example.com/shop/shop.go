// Package shop has flows that call another package.
package shop

import (
	"context"
	"slices"
	"time"

	"example.com/lib"
	"github.com/loomwork/loom"
)

type teller interface{ Tell() int64 }

type real struct{}

func (real) Tell() int64 { return time.Now().Unix() } // want Tell:`does: clock by time.Now`

var _ = loom.NewFlow("shop", func(ctx loom.Context, cfg *lib.Config) (int, error) {
	_ = lib.Stamp() // want `^lib.Stamp gets to time.Now \(lib.go:16\), which goes by the wall clock: use loom.Now \(loom:clock\)$`
	_ = lib.Deep()  // want `lib.Deep gets to time.Now \(lib.go:16\).*loom:clock` `lib.Deep gets to rand.Int63 \(lib.go:20\).*loom:random`
	_ = lib.Pure(1)
	_ = cfg.Env() // want `lib.Config.Env gets to os.Getenv .*loom:env`
	_ = cfg.Clock()
	_ = lib.Allowed()
	_ = lib.Verbs(ctx)
	lib.Locked()
	_, _ = lib.Generic("x") // want `lib.Generic gets to time.Now`
	_, _ = lib.Effect(ctx)  // want `lib.Effect gets to os.Hostname`
	_, _ = loom.Do(ctx, "effect", lib.Effect)
	_, _ = lib.Step(ctx, "step", lib.Effect)
	_, _ = lib.Step(ctx, "literal", func(context.Context) (int, error) { return time.Now().Day(), nil })
	_, _ = lib.Bare(ctx, func() int { return time.Now().Day() })
	lib.Each(3, func(int) {
		_ = time.Now() // want `loom:clock`
	})
	cfg.Kept(time.Now)
	cfg.Kept(func() time.Time { return time.Now() })

	// Through an interface it is not followed.
	var t teller = real{}
	_ = t.Tell()

	slices.SortFunc([]int{2, 1}, func(a, b int) int {
		_ = time.Now() // want `loom:clock`
		return a - b
	})
	return 0, nil
})
