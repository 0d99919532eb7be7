// Command dbos measures DBOS Transact for Go over SQLite with the workloads of Loom's
// bench, which runs it and reads its figures, a JSON array, from stdout. DBOS opens
// SQLite with synchronous=NORMAL.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

func main() {
	dir := flag.String("dir", os.TempDir(), "directory for the database files")
	executions := flag.Int("executions", 2000, "of W1")
	steps := flag.Int("steps", 1000, "of W2")
	recorded := flag.Int("recorded", 10_000, "steps of W3")
	child := flag.String("child", "", "internal: record or resume")
	flag.Parse()
	var err error
	if *child != "" {
		err = resumable(*dir, *child, *recorded)
	} else {
		err = all(*dir, *executions, *steps, *recorded)
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

func step(context.Context) (string, error) { return text, nil }

// manySteps runs n steps, one after the other.
func manySteps(ctx dbos.Context, n int) (s string, err error) {
	for range n {
		if s, err = dbos.RunAsStep(ctx, step); err != nil {
			return "", err
		}
	}
	return s, nil
}

var (
	bodies atomic.Int64 // of once that ran
	live   = make(chan time.Time, 1)
)

func once(ctx dbos.Context, _ string) (string, error) {
	bodies.Add(1)
	return dbos.RunAsStep(ctx, step)
}

// thenLive runs n steps and then one that does not return.
func thenLive(ctx dbos.Context, n int) (string, error) {
	if _, err := manySteps(ctx, n); err != nil {
		return "", err
	}
	return dbos.RunAsStep(ctx, func(ctx context.Context) (string, error) {
		live <- time.Now()
		<-ctx.Done()
		return "", ctx.Err()
	})
}

// open launches DBOS over the file at path.
func open(path string) (dbos.Context, error) {
	c, err := dbos.NewContext(context.Background(), dbos.Config{AppName: "bench", DatabaseURL: "sqlite:" + path,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(c, manySteps)
	dbos.RegisterWorkflow(c, once)
	dbos.RegisterWorkflow(c, thenLive)
	return c, dbos.Launch(c)
}

func all(dir string, executions, steps, recorded int) error {
	var figures []figure
	for _, inFlight := range []int{64, 512} {
		got, err := w1(filepath.Join(dir, fmt.Sprintf("dbos-w1-%d.db", inFlight)), executions, inFlight)
		if err != nil {
			return err
		}
		figures = append(figures, got...)
	}
	for _, work := range []func() ([]figure, error){
		func() ([]figure, error) { return w2(filepath.Join(dir, "dbos-w2.db"), steps) },
		func() ([]figure, error) { return w3(dir, recorded) },
		func() ([]figure, error) { return w4(filepath.Join(dir, "dbos-w4.db")) },
	} {
		got, err := work()
		if err != nil {
			return err
		}
		figures = append(figures, got...)
	}
	return json.NewEncoder(os.Stdout).Encode(figures)
}
