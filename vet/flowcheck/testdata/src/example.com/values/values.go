// Package values has functions that are values before they are called.
package values

import (
	"context"
	"time"

	"github.com/loomwork/loom"
)

var clock = time.Now

type service struct{ now func() time.Time }

func (s *service) stamp() int { return time.Now().Day() } // want `flow code calls stamp at values.go:31`

func (s *service) body(ctx loom.Context, _ int) (int, error) {
	return time.Now().Day(), nil // want `loom:clock`
}

func generic[T any](ctx loom.Context, in T) (T, error) {
	_ = time.Now() // want `loom:clock`
	return in, nil
}

var _ = loom.NewFlow("method", (&service{now: time.Now}).body)
var _ = loom.NewFlow("generic", generic[int])

func flow(ctx loom.Context, s *service) (int, error) {
	stamp := s.stamp
	_ = stamp()
	_ = s.now() // a field: not followed
	_ = clock() // want `time.Now goes by the wall clock`
	now := time.Now
	_ = now() // want `time.Now goes by the wall clock`

	today := func() int { return time.Now().Day() } // want `^time.Now goes by the wall clock: `
	_ = today()

	unused := func() int { return time.Now().Day() }
	_ = unused

	charge := func(context.Context) (int, error) { return time.Now().Day(), nil }
	_, _ = loom.Do(ctx, "charge", charge)
	_, _ = loom.Do(ctx, "verified", charge, loom.Verify(func(context.Context) (int, bool, error) {
		return time.Now().Day(), true, nil
	}))

	var again func(int) int
	again = func(n int) int {
		if n == 0 {
			return time.Now().Day() // want `loom:clock`
		}
		return again(n - 1)
	}
	_ = again(3)

	var b box[int]
	b.set(1)
	_ = pick([]int{1}, func(int) bool {
		return time.Now().IsZero() // want `loom:clock`
	})
	return 0, nil
}

type box[T any] struct{ at time.Time }

func (b *box[T]) set(T) { b.at = time.Now() } // want `flow code calls set`

func pick[T any](list []T, is func(T) bool) (out []T) {
	for _, x := range list {
		if is(x) {
			out = append(out, x)
		}
	}
	return out
}
