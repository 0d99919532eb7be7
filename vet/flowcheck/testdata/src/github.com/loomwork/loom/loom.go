// Package loom stands in for the real one: the names and types that flowcheck looks at.
package loom

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

type Context interface {
	context.Context
	branch()
}

type Flow[In, Out any] struct{}

func NewFlow[In, Out any](name string, fn func(ctx Context, in In) (Out, error)) *Flow[In, Out] {
	return nil
}

func (f *Flow[In, Out]) Child(ctx Context, name string, in In) (out Out, err error) { return }

type StepOption interface{ step() }

func Args(v any) StepOption                                              { return nil }
func Timeout(d time.Duration) StepOption                                 { return nil }
func Verify[T any](fn func(context.Context) (T, bool, error)) StepOption { return nil }

func Do[T any](ctx Context, name string, fn func(context.Context) (T, error), opts ...StepOption) (v T, err error) {
	return fn(ctx)
}

func Sleep(ctx Context, name string, d time.Duration) error { return nil }

func Await[T any](ctx Context, name string) (v T, err error) { return }

type Future[T any] struct{}

func Go[T any](ctx Context, name string, fn func(ctx Context) (T, error)) *Future[T] { return nil }

func (f *Future[T]) Get(ctx Context) (v T, err error) { return }

func All[T any](ctx Context, futures ...*Future[T]) ([]T, error) { return nil, nil }

func First[T any](ctx Context, futures ...*Future[T]) (int, error) { return -1, nil }

func Cleanup(ctx Context, name string, fn func(ctx Context) error) {}

func Compensate(ctx Context, name string, undo func(ctx context.Context) error, opts ...StepOption) error {
	return nil
}

func Set(ctx Context, key string, v any) error { return nil }

func Version(ctx Context, change string, min, max int) int { return max }

func Now(ctx Context) time.Time                 { return time.Time{} }
func Rand(ctx Context) *rand.Rand               { return nil }
func NewID(ctx Context) string                  { return "" }
func Logger(ctx Context) *slog.Logger           { return nil }
func ExecutionID(ctx Context) string            { return "" }
func IdempotencyKey(ctx context.Context) string { return "" }
