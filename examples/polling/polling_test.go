package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/examples/internal/program"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/loomtest"
)

// write writes a file of so many bytes.
func write(t *testing.T, file string, size int) {
	t.Helper()
	if err := os.WriteFile(file, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A real file comes after ten days. What a restart would run, the log's last generation, is
// a small part of it.
func TestItWaitsForDays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.csv")
	loomtest.Run(t, func(e *loomtest.Env) {
		polling := NewPolling(sizeOf)
		rt := e.Open(loom.Flows(polling))
		run, err := polling.Start(e.Context(), rt, Watch{File: file, Every: time.Hour, Batch: 50}, loom.ID("w"))
		if err != nil {
			t.Fatal(err)
		}
		e.Sleep(240*time.Hour + 30*time.Minute)
		write(t, file, 10)
		if got, err := run.Result(e.Context()); err != nil || got != (Report{Looks: 243, Size: 10}) {
			t.Error(got, err)
		}
		state, err := rt.State(e.Context(), "w")
		if err != nil || state.Generation != 5 {
			t.Error("generation", state.Generation, err)
		}
		last := 0
		for _, env := range e.Log("w") {
			if last++; env.Kind == event.KindExecutionContinued {
				last = 0
			}
		}
		if want := 43*3 - 1; last != want { // a look, a wait, its end; and in the end no wait but an end
			t.Errorf("the last generation has %d events, want %d", last, want)
		}
	})
}

// A file that grows is not complete, and a message makes it look at once.
func TestAFileThatGrowsAndAMessage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.csv")
	loomtest.Run(t, func(e *loomtest.Env) {
		began := e.Now()
		polling := NewPolling(sizeOf)
		run, err := polling.Start(e.Context(), e.Open(loom.Flows(polling)), Watch{File: file, Every: 24 * time.Hour, Batch: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 2, 3, 3} {
			e.Sleep(time.Minute)
			write(t, file, size)
			if err := run.Signal(e.Context(), "now", true); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := run.Result(e.Context()); err != nil || got != (Report{Looks: 5, Size: 3}) {
			t.Error(got, err)
		}
		if took := e.Now().Sub(began); took > time.Hour {
			t.Errorf("it took %v", took)
		}
	})
}

// Wherever it dies in four generations, the next one knows what the last one knew. A disk
// that is away for a while is waited for.
func TestTheNextGenerationKnowsWhatThisOneKnew(t *testing.T) {
	loomtest.CrashEverywhere(t, func(e *loomtest.Env) *loomtest.Scenario {
		began, away := e.Now(), true
		polling := NewPolling(func(string) (int64, error) {
			switch passed := e.Now().Sub(began); {
			case passed > 2*time.Hour && away:
				away = false
				return 0, errors.New("the disk is away")
			case passed < 7*time.Hour+30*time.Minute:
				return -1, nil
			}
			return 7, nil
		})
		return &loomtest.Scenario{
			Flows: []loom.AnyFlow{polling},
			Start: func(ctx context.Context, rt *loom.Runtime) error {
				_, err := polling.Start(ctx, rt, Watch{Every: time.Hour, Batch: 3}, loom.ID("w"))
				return err
			},
			Outside: func() any {
				s, err := fold.Log(e.Log("w"))
				if err != nil || s.Generation != 4 {
					t.Errorf("generation %d, %v", s.Generation, err)
				}
				return away
			},
		}
	})
}

// TestItIsKilledWhileItWaits kills the program with SIGKILL before there is a file, and
// starts it again when there is.
func TestItIsKilledWhileItWaits(t *testing.T) {
	bin, dir := program.Build(t), t.TempDir()
	program.Kill(t, "report.csv: -1 bytes", dir, bin)
	write(t, filepath.Join(dir, "report.csv"), 5)
	out := program.Run(t, dir, bin)
	if !strings.Contains(out, "going on with it") || !strings.Contains(out, "complete: 5 bytes, after ") {
		t.Error(out)
	}
	program.Replays(t, filepath.Join(dir, "polling.db"), NewPolling(nil))
}
