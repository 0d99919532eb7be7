package loomtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// ReplayFile drives today's flows over the log in a file, which [Save] or the command
// "loom log ID --export FILE" wrote: effects are answered from it, none is called, and
// nothing is written. It fails the test if the code asks for something else than the log
// holds, with what stands where and what was asked for; if the file is no whole log; and
// if its flow is not among flows. A log that has not ended yet is replayed up to where it
// is. The report is for who wants to look.
func ReplayFile(t testing.TB, path string, flows ...loom.AnyFlow) loom.ReplayReport {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("loomtest: %v", err)
	}
	rep, err := loom.Replay(context.Background(), event.ReadLog(bytes.NewReader(raw)), flows...)
	var diverged *loom.DivergedError
	switch {
	case errors.As(err, &diverged):
		t.Fatalf("loomtest: the code no longer fits %s: at sequence %d the log holds\n  %s\nand the code asked for\n  %s",
			path, diverged.Sequence, diverged.Recorded, diverged.Asked)
	case err != nil:
		t.Fatalf("loomtest: %s cannot be replayed: %v", path, err)
	}
	return rep
}

// Save writes the log of an execution to a file for [ReplayFile], in place of one that is
// there. A test that is to keep a log calls it once, and its file is checked in.
func Save(t testing.TB, rt *loom.Runtime, id, path string) {
	t.Helper()
	var out bytes.Buffer
	if err := event.WriteLog(&out, rt.Log(context.Background(), id, 0)); err != nil {
		t.Fatalf("loomtest: the log of %s: %v", id, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("loomtest: %v", err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatalf("loomtest: %v", err)
	}
}
