// Rollout: a release goes out in stages. Executions run for days, so that the code changes
// under them; the test beside it holds today's code against a log of an earlier day.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

// Release is what the flow gets.
type Release struct {
	Version string
	Shares  []int // in percent, one a stage
}

// Health is what a check found.
type Health struct{ Errors int }

// ErrUnhealthy is why a release was taken back.
var ErrUnhealthy = errors.New("too many errors")

// Rollout deploys a release to a growing share of the machines and looks after it for a
// day each time.
var Rollout = loom.NewFlow("rollout", func(ctx loom.Context, in Release) (string, error) {
	err := loom.Compensate(ctx, "roll-back", func(context.Context) error {
		fmt.Println("back to the release before", in.Version)
		return nil
	})
	if err != nil {
		return "", err
	}
	for _, share := range in.Shares {
		_, err := loom.Do(ctx, "deploy", func(context.Context) (bool, error) {
			fmt.Printf("%s to %d%%\n", in.Version, share)
			return true, nil
		}, loom.Args(share))
		if err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "watch", 24*time.Hour); err != nil {
			return "", err
		}
		h, err := loom.Do(ctx, "check", func(context.Context) (Health, error) { return Health{}, nil }, loom.ReadOnly())
		if err != nil {
			return "", err
		}
		if h.Errors > 10 {
			return "", fmt.Errorf("at %d%%: %w", share, ErrUnhealthy)
		}
	}
	return in.Version + " is everywhere", nil
})

func main() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, sqlite.Open("app.db"), loom.Flows(Rollout))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := Rollout.Start(ctx, rt, Release{"v2", []int{1, 10, 100}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
}
