package loom

import (
	"context"
	"log/slog"
)

// Logger returns a logger for the body: it adds the execution's id and is silent
// while recorded turns are replayed, so that a line appears once.
func Logger(ctx Context) *slog.Logger {
	b := ctx.branch()
	base := b.run.rt.log.Handler()
	return slog.New(&bodyHandler{Handler: base, b: b}).With("execution", string(b.run.id))
}

type bodyHandler struct {
	slog.Handler
	b *branch
}

func (h *bodyHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return !h.b.k.RanBefore() && h.Handler.Enabled(ctx, l)
}

func (h *bodyHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &bodyHandler{Handler: h.Handler.WithAttrs(a), b: h.b}
}

func (h *bodyHandler) WithGroup(name string) slog.Handler {
	return &bodyHandler{Handler: h.Handler.WithGroup(name), b: h.b}
}
