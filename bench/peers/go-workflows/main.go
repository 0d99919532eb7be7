// Command go-workflows measures cschleiden/go-workflows over SQLite with the workloads of
// Loom's bench, which runs it and reads its figures, a JSON array, from stdout. It runs a
// quarter of the executions of W1, and only 64 in flight: it takes its time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/google/uuid"
)

func main() {
	dir := flag.String("dir", os.TempDir(), "directory for the database files")
	executions := flag.Int("executions", 500, "of W1")
	steps := flag.Int("steps", 1000, "of W2")
	flag.Parse()
	figures, err := all(*dir, *executions, *steps)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(figures)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// figure is one number, as Loom's bench reads it.
type figure struct {
	Work  string  `json:"work"`
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

var text = strings.Repeat("x", 98) // 100 bytes of JSON

// Step is the activity.
func Step(context.Context) (string, error) { return text, nil }

// ManySteps runs n activities, one after the other.
func ManySteps(ctx workflow.Context, n int) (s string, err error) {
	for range n {
		if s, err = workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, Step).Get(ctx); err != nil {
			return "", err
		}
	}
	return s, nil
}

// engine is a worker and a client over one file.
type engine struct {
	client *client.Client
	end    func()
}

func open(path string) (*engine, error) {
	remove(path)
	b := sqlite.NewSqliteBackend(path, sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))))
	ctx, cancel := context.WithCancel(context.Background())
	// As shipped it asks for work five times a second, and a sequence of steps takes just
	// that long. It is asked to look all the time, which is what makes it fastest.
	o := worker.DefaultOptions
	o.WorkflowPollingInterval, o.ActivityPollingInterval = time.Millisecond, time.Millisecond
	w := worker.New(b, &o)
	if err := errors.Join(w.RegisterWorkflow(ManySteps), w.RegisterActivity(Step)); err != nil {
		cancel()
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		cancel()
		return nil, err
	}
	return &engine{client: client.New(b), end: func() {
		cancel()
		_ = w.WaitForCompletion() // nothing that was measured depends on it
		_ = b.Close()
		remove(path)
	}}, nil
}

func remove(path string) {
	for _, f := range []string{path, path + "-wal", path + "-shm"} {
		_ = os.Remove(f) // it may not be there
	}
}

// run runs one execution to its result; false if the id was taken.
func (e *engine) run(id string, steps int) (ran bool, err error) {
	ctx := context.Background()
	in, err := e.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, ManySteps, steps)
	if errors.Is(err, backend.ErrInstanceAlreadyExists) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = client.GetWorkflowResult[string](ctx, e.client, in, 2*time.Minute)
	return true, err
}

// side calls fn n times, at most inFlight at a time.
func side(n, inFlight int, fn func(int) error) (all time.Duration, each []time.Duration, err error) {
	each = make([]time.Duration, n)
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range inFlight {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				start := time.Now()
				if err := fn(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
				each[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	if e := failed.Load(); e != nil {
		err = *e
	}
	return time.Since(began), each, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func all(dir string, executions, steps int) ([]figure, error) {
	e, err := open(filepath.Join(dir, "go-workflows-w1.db"))
	if err != nil {
		return nil, err
	}
	took, each, err := side(executions, 64, func(int) error { _, err := e.run(uuid.NewString(), 3); return err })
	e.end()
	if err != nil {
		return nil, fmt.Errorf("W1: %w", err)
	}
	slices.Sort(each)
	const w1 = "W1, 64 in flight"
	figures := []figure{
		{w1, "executions", "executions/s", float64(executions) / took.Seconds()},
		{w1, "p50", "ms", ms(each[executions/2])},
		{w1, "p99", "ms", ms(each[executions*99/100])},
	}
	if e, err = open(filepath.Join(dir, "go-workflows-w2.db")); err != nil {
		return nil, err
	}
	took, _, err = side(1, 1, func(int) error { _, err := e.run(uuid.NewString(), steps); return err })
	e.end()
	if err != nil {
		return nil, fmt.Errorf("W2: %w", err)
	}
	figures = append(figures, figure{"W2", "steps", "steps/s", float64(steps) / took.Seconds()})
	if e, err = open(filepath.Join(dir, "go-workflows-w4.db")); err != nil {
		return nil, err
	}
	const starts, ids = 1000, 100
	var ran atomic.Int64
	took, _, err = side(starts, starts, func(i int) error {
		mine, err := e.run(fmt.Sprintf("once-%d", i%ids), 1)
		if mine {
			ran.Add(1)
		}
		return err
	})
	e.end()
	return append(figures, figure{"W4", "time", "s", took.Seconds()},
		figure{"W4", "bodies", "bodies", float64(ran.Load())}, figure{"W4", "refusals", "refusals", float64(starts - ran.Load())}), err
}
