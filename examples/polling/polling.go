package main

import (
	"context"
	"errors"
	"time"

	"github.com/loomwork/loom"
)

// Watch says what is waited for.
type Watch struct {
	File  string
	Every time.Duration // between two looks
	Batch int           // looks of a generation, at least 1

	Known Report // what a generation tells the next; who starts the flow leaves it alone
}

// Report is what it returns.
type Report struct {
	Looks int   // so far
	Size  int64 // in bytes at the last look, -1 for no file
}

// NewPolling returns a flow that waits for a file which somebody else writes: until it is
// there, and no longer grows. That may take a minute or a year. look returns how large the
// file is, -1 for none. A message called "now" makes it look at once.
func NewPolling(look func(file string) (int64, error)) *loom.Flow[Watch, Report] {
	return loom.NewFlow("polling", func(ctx loom.Context, in Watch) (Report, error) {
		known := in.Known
		for range max(in.Batch, 1) {
			size, err := loom.Do(ctx, "look", func(context.Context) (int64, error) { return look(in.File) },
				loom.ReadOnly(), loom.Retry{Attempts: 50, Initial: time.Second, Max: time.Minute})
			if err != nil {
				return known, err
			}
			complete := known.Looks > 0 && size >= 0 && size == known.Size
			known = Report{Looks: known.Looks + 1, Size: size}
			if complete {
				return known, nil
			}
			_, err = loom.Await[bool](ctx, "now", loom.Within(in.Every))
			if err != nil && !errors.Is(err, loom.ErrTimeout) {
				return known, err
			}
		}
		// The body begins anew, in the same execution, with what it knows as its input. A
		// restart runs the last generation alone, so a batch bounds what that costs.
		in.Known = known
		return known, loom.ContinueAs(ctx, in)
	})
}
