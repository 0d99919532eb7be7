package clock

import (
	"context"
	"time"

	"github.com/loomwork/loom"
)

var Flow = loom.NewFlow("clock", func(ctx loom.Context, n int) (time.Time, error) {
	start := time.Now()             // want `^time.Now goes by the wall clock: use loom.Now \(loom:clock\)$`
	_ = time.Since(start)           // want `time.Since .*loom:clock`
	_ = time.Until(start)           // want `time.Until .*loom:clock`
	time.Sleep(time.Second)         // want `time.Sleep .*use loom.Sleep.*loom:clock`
	_ = time.NewTimer(time.Second)  // want `time.NewTimer .*loom:clock`
	_ = time.Tick(time.Second)      // want `time.Tick .*loom:clock`
	time.AfterFunc(1, func() {})    // want `time.AfterFunc .*loom:clock`
	_, stop := context.WithTimeout( // want `context.WithTimeout .*loom.Timeout for a step.*loom:clock`
		ctx, time.Second)
	stop()
	<-time.After(1) // want `loom:channel` `time.After .*loom:clock`

	// What is pure, and what is Loom's, is fine.
	at := loom.Now(ctx).Add(time.Hour).Truncate(time.Minute)
	at, _ = time.Parse(time.RFC3339, "2026-01-02T03:04:05Z")
	_ = time.Unix(0, 0)
	if err := loom.Sleep(ctx, "wait", time.Duration(n)); err != nil {
		return at, err
	}
	return loom.Do(ctx, "now", func(context.Context) (time.Time, error) {
		time.Sleep(1)
		return time.Now(), nil
	})
})

func named(ctx loom.Context, _ int) (int, error) {
	return stamp() + twice(), nil
}

var _ = loom.NewFlow("named", named)

func stamp() int { return time.Now().Day() } // want `^time.Now goes by the wall clock, and flow code calls stamp at clock.go:37: use loom.Now \(loom:clock\)$`

func twice() int { return once() }

func once() int { return time.Now().Day() } // want `flow code calls once at clock.go:44`

// No flow gets here.
func elsewhere() { time.Sleep(1) }

// charge is an effect in one flow, and called by another.
func charge(context.Context) (int, error) { return time.Now().Day(), nil } // want `flow code calls charge at clock.go:60`

func effect(context.Context) (int, error) { return time.Now().Day(), nil }

var _ = loom.NewFlow("charging", func(ctx loom.Context, _ int) (int, error) {
	if _, err := loom.Do(ctx, "effect", effect); err != nil {
		return 0, err
	}
	return charge(ctx)
})

var _ = loom.NewFlow("branches", func(ctx loom.Context, _ int) (int, error) {
	f := loom.Go(ctx, "one", func(ctx loom.Context) (int, error) {
		return time.Now().Day(), nil // want `loom:clock`
	})
	defer func() {
		_ = time.Now() // want `loom:clock`
	}()
	return f.Get(ctx)
})
