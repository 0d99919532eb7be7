package rt

import "context"

type contextKey struct{}

// With returns a context whose [From] is r: how a simulation, or a test, gives
// loom.Open another world than the real one.
func With(ctx context.Context, r Runtime) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// From returns the runtime that [With] put into ctx, or a new [Real].
func From(ctx context.Context) Runtime {
	if r, ok := Of(ctx); ok {
		return r
	}
	return NewReal()
}

// Of returns the runtime that [With] put into ctx, and whether it did.
func Of(ctx context.Context) (Runtime, bool) {
	r, ok := ctx.Value(contextKey{}).(Runtime)
	return r, ok
}
