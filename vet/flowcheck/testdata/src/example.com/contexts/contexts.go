package contexts

import (
	"context"

	"example.com/lib"
	"github.com/loomwork/loom"
)

func call(ctx context.Context) (int, error) { return 0, ctx.Err() }

func helper(ctx loom.Context) error { return nil }

type worker struct{ ctx loom.Context }

func (w *worker) run() (int, error) {
	return loom.Do(w.ctx, "call", func(ctx context.Context) (int, error) {
		return call(w.ctx) // want `the effect uses w.ctx, the loom.Context of the flow`
	})
}

var _ = loom.NewFlow("effects", func(ctx loom.Context, n int) (int, error) {
	_, _ = loom.Do(ctx, "wrong", func(context.Context) (int, error) {
		_ = loom.Sleep(ctx, "nap", 1) // want `^the effect uses ctx, the loom.Context of the flow: use the context that the effect is given \(loom:effectctx\)$`
		func() {
			_, _ = call(ctx) // want `loom:effectctx`
		}()
		_ = ctx.Err()              // want `loom:effectctx`
		loom.Logger(ctx).Info("x") // want `loom:effectctx`
		_ = loom.ExecutionID(ctx)
		return 0, nil
	})
	_, _ = lib.Step(ctx, "wrapped", func(context.Context) (int, error) {
		return call(ctx) // want `loom:effectctx`
	})
	effect := func(context.Context) (int, error) {
		return call(ctx) // want `loom:effectctx`
	}
	_, _ = loom.Do(ctx, "variable", effect, loom.Verify(func(context.Context) (int, bool, error) {
		_, err := call(ctx) // want `loom:effectctx`
		return 0, true, err
	}))
	id := loom.ExecutionID(ctx)
	return loom.Do(ctx, "right", func(ctx context.Context) (int, error) {
		_, _ = id, loom.IdempotencyKey(ctx)
		return call(ctx)
	})
})

var _ = loom.NewFlow("branches", func(ctx loom.Context, n int) (int, error) {
	f := loom.Go(ctx, "wrong", func(inner loom.Context) (int, error) {
		_ = loom.Sleep(ctx, "nap", 1) // want `^loom.Sleep gets ctx, which belongs to another branch: use the loom.Context that this branch is given \(loom:branchctx\)$`
		_ = helper(ctx)               // want `contexts.helper gets ctx`
		_ = loom.ExecutionID(ctx)
		_, _ = call(ctx)
		return loom.Do(inner, "do", func(context.Context) (int, error) {
			return 0, helper(ctx) // want `loom:effectctx`
		})
	})
	g := loom.Go(ctx, "right", func(ctx loom.Context) (int, error) {
		deeper := loom.Go(ctx, "deeper", func(ctx loom.Context) (int, error) { return 0, helper(ctx) })
		return deeper.Get(ctx)
	})
	loom.Cleanup(ctx, "clean", func(c loom.Context) error {
		return helper(ctx) // want `loom:branchctx`
	})
	inline := func() error { return helper(ctx) }
	_ = inline()
	_, _ = g.Get(ctx)
	return f.Get(ctx)
})
