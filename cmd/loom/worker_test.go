package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

// worker is the other program of these tests: it has a few flows and starts, drives
// and abandons executions in a real store.
//
//	worker start FLOW ID [INPUT]   write an execution down for a worker
//	worker run ID…                 drive everything until these have ended
//	worker serve                   drive everything until standard input ends
//	worker abandon FLOW ID [INPUT] start one and die in its effect
//	worker stick ID                lose it until nobody takes it any more
//	worker hold FLOW ID            be alive with it; prints a line, ends with standard input
//
// The database is ./loom.db, or what $DB says.
func worker() {
	if err := work(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func workerDB() string {
	if p := os.Getenv("DB"); p != "" {
		return p
	}
	return "loom.db"
}

func work(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no command")
	}
	switch cmd, args := args[0], args[1:]; cmd {
	case "start":
		return withRuntime(ctx, true, func(rt *loom.Runtime) error { return startOne(ctx, rt, args) })
	case "run":
		resuming = true
		return withRuntime(ctx, false, func(rt *loom.Runtime) error { return until(ctx, rt, args) })
	case "serve":
		return withRuntime(ctx, false, func(*loom.Runtime) error {
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		})
	case "abandon":
		return withRuntime(ctx, false, func(rt *loom.Runtime) error {
			if err := startOne(ctx, rt, args); err != nil {
				return err
			}
			<-inEffect
			os.Exit(0) // as a crash does: nothing is given back
			return nil
		})
	case "hold":
		return withRuntime(ctx, false, func(rt *loom.Runtime) error {
			if err := startOne(ctx, rt, args); err != nil {
				return err
			}
			<-inEffect
			fmt.Println("holding")
			_, err := io.Copy(io.Discard, os.Stdin)
			letGo()
			return err
		})
	case "stick":
		return stick(ctx, event.ExecutionID(args[0]))
	}
	return fmt.Errorf("no command %q", args[0])
}

func withRuntime(ctx context.Context, client bool, fn func(*loom.Runtime) error) error {
	rt, err := loom.Open(ctx, sqlite.Open(workerDB()), loom.Flows(anyFlows()...), loom.Tuning{ClientOnly: client, CloseGrace: time.Second})
	if err != nil {
		return err
	}
	return errors.Join(fn(rt), rt.Close())
}

func startOne(ctx context.Context, rt *loom.Runtime, args []string) error {
	if len(args) < 2 {
		return errors.New("start FLOW ID [INPUT]")
	}
	input := json.RawMessage("null")
	if len(args) > 2 {
		input = json.RawMessage(args[2])
	}
	for _, f := range workerFlows {
		if f.Name() == args[0] {
			run, err := f.Start(ctx, rt, input, loom.ID(args[1]), loom.Labels(map[string]string{"suite": "cli"}))
			if err != nil {
				return err
			}
			return run.Durable(ctx)
		}
	}
	return fmt.Errorf("no flow %q", args[0])
}

func until(ctx context.Context, rt *loom.Runtime, ids []string) error {
	for _, id := range ids {
		run, err := loom.Attach[json.RawMessage](rt, id)
		if err != nil {
			return err
		}
		var ended *loom.ExecutionError
		if _, err := run.Result(ctx); err != nil && !errors.As(err, &ended) {
			return err
		}
	}
	return nil
}

// stick claims an execution for one node after the other, each of which leaves at
// once.
func stick(ctx context.Context, id event.ExecutionID) error {
	db, err := sqlite.OpenDB(ctx, workerDB())
	if err != nil {
		return err
	}
	defer db.Close()
	for n := 0; ; n++ {
		h, ok, err := db.Get(ctx, id)
		if err != nil || !ok {
			return fmt.Errorf("execution %s: %v, %v", id, ok, err)
		}
		if h.Strikes >= store.MaxStrikes {
			return nil
		}
		node := store.NodeID(fmt.Sprintf("passing-%d", n))
		if _, err := db.Renew(ctx, node, time.Minute, nil); err != nil {
			return err
		}
		when := store.Lapsed
		if h.Owner == "" {
			when = store.Unowned
		}
		req := store.Request{Execution: id, Expect: h.Tip, Claim: &store.Claim{Owner: node, When: when}}
		_, _ = rand.Read(req.Nonce[:])
		res, err := db.Commit(ctx, req)
		if err != nil || res[0].Outcome != store.Committed {
			return fmt.Errorf("claim %d: %v, %v", n, res, err)
		}
		if err := db.Leave(ctx, node); err != nil {
			return err
		}
	}
}
