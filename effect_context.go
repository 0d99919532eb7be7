package loom

import (
	"context"

	"github.com/loomwork/loom/internal/kernel"
)

// effectContext is what an effect gets: it carries who calls it.
type effectContext struct {
	context.Context
	run     *run
	op      *kernel.Op
	attempt int
}

type effectKey struct{}

func (c *effectContext) Value(key any) any {
	if key == (effectKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func effectOf(ctx context.Context) *effectContext {
	c, _ := ctx.Value(effectKey{}).(*effectContext)
	return c
}

// IdempotencyKey returns the key of the step whose effect got ctx, 26 characters:
// the same for all its attempts, another one for every other step and execution,
// also for an execution that was deleted and started again under its id. Outside of
// an effect it returns "".
func IdempotencyKey(ctx context.Context) string {
	c := effectOf(ctx)
	if c == nil {
		return ""
	}
	return kernel.IdempotencyKey(c.run.id, c.run.seed, c.op.Path)
}

// Attempt returns which attempt of its step an effect is, from 1; 0 outside of an
// effect. A call that a crash cut off is made again under the same number.
func Attempt(ctx context.Context) int {
	c := effectOf(ctx)
	if c == nil {
		return 0
	}
	return c.attempt
}

// StepOf returns the execution and the path of the step whose effect got ctx; ok
// is false outside of an effect.
func StepOf(ctx context.Context) (execution, step string, ok bool) {
	c := effectOf(ctx)
	if c == nil {
		return "", "", false
	}
	return string(c.run.id), c.op.Path, true
}
