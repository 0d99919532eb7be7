// Package lib has helpers for flows of other packages.
package lib

import (
	"context"
	"math/rand"
	"os"
	"sync"
	"time"

	"github.com/loomwork/loom"
)

var Count int

func Stamp() int64 { return time.Now().Unix() } // want Stamp:`does: clock by time.Now`

func Deep() int64 { return Stamp() + inner() } // want Deep:`does: clock by time.Now, random by rand.Int63`

func inner() int64 { return rand.Int63() }

func Pure(n int) int { return n + 1 }

type Config struct{ now func() time.Time }

func (c *Config) Env() string { return os.Getenv("X") } // want Env:`does: env by os.Getenv`

// Clock is called through a field: who knows which one it is.
func (c *Config) Clock() time.Time { return c.now() }

func Allowed() int64 {
	return time.Now().Unix() //loom:allow only a line of log shows it
}

// Verbs is flow code, so that what it does is reported here and not where it is called.
func Verbs(ctx loom.Context) error { // want Verbs:`does: verbs`
	_ = time.Now() // want `loom:clock`
	return loom.Sleep(ctx, "nap", time.Second)
}

func Effect(ctx context.Context) (int, error) { // want Effect:`does: env by os.Hostname`
	_, err := os.Hostname()
	return 0, err
}

func Generic[T any](v T) (T, int64) { return v, time.Now().Unix() } // want Generic:`does: clock by time.Now`

var mu sync.Mutex

func Locked() { mu.Lock(); defer mu.Unlock() }

// Each calls fn, as part of the flow that calls it.
func Each(n int, fn func(int)) { // want Each:`does: `
	for i := range n {
		fn(i)
	}
}

// Step makes fn an effect.
func Step(ctx loom.Context, name string, fn func(context.Context) (int, error)) (int, error) { // want Step:`does: verbs`
	return loom.Do(ctx, name, fn)
}

// Bare makes fn an effect, though it takes no context.
func Bare(ctx loom.Context, fn func() int) (int, error) { // want Bare:`does: verbs`
	return loom.Do(ctx, "bare", func(context.Context) (int, error) { return fn(), nil })
}

// Kept keeps fn.
func (c *Config) Kept(fn func() time.Time) { c.now = fn }
