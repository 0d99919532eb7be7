package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// lines starts a command and hands its standard output over line by line.
func lines(t *testing.T, cmd *exec.Cmd) (next func() (string, bool), stdin io.WriteCloser) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // it has ended, or ends with its input or its test
		if t.Failed() {
			t.Logf("%v: %s", cmd.Args, errs.String())
		}
	})
	s := bufio.NewScanner(out)
	return func() (string, bool) {
		ok := s.Scan()
		return s.Text(), ok
	}, stdin
}

// Each message is sent only once the event before it has been seen, so that events
// that came in a heap at the end would hang the test.
func TestLogFollowsAnExecutionThatAnotherProcessDrives(t *testing.T) {
	dir := t.TempDir()
	do(t, dir, "worker", "start", "relay", "relay-1")
	next, _ := lines(t, program(t, dir, "loom", "log", "relay-1", "--follow", "--json"))
	_, _ = lines(t, program(t, dir, "worker", "serve"))
	expect := func(kind, payload string) {
		t.Helper()
		line, ok := next()
		var e struct {
			Schema, Kind string
			Data         struct {
				Kind    string
				Payload json.RawMessage
			}
		}
		if !ok || json.Unmarshal([]byte(line), &e) != nil {
			t.Fatalf("got %q, want a %s", line, kind)
		}
		if e.Schema != "loom.cli/1" || e.Kind != "event" || e.Data.Kind != kind || !strings.Contains(string(e.Data.Payload), payload) {
			t.Fatalf("got %s, want a %s with %s", line, kind, payload)
		}
	}
	expect("EXECUTION_STARTED", `"relay"`)
	expect("MESSAGE_AWAITED", `go#1`)
	for _, word := range []string{"one", "two"} {
		do(t, dir, "loom", "signal", "relay-1", "go", `"`+word+`"`)
		expect("MESSAGE_RECEIVED", word)
		expect("EFFECT_SCHEDULED", "step#")
		expect("EFFECT_COMPLETED", word)
		expect("MESSAGE_AWAITED", "go#")
	}
	do(t, dir, "loom", "signal", "relay-1", "go", `"stop"`)
	expect("MESSAGE_RECEIVED", "stop")
	expect("EXECUTION_COMPLETED", "stopped")
	if line, more := next(); more {
		t.Errorf("the log goes on after its end: %s", line)
	}
}

func TestRecoverTakesFromALivingOwnerByForceAlone(t *testing.T) {
	dir := t.TempDir()
	next, stdin := lines(t, program(t, dir, "worker", "hold", "block", "held-1"))
	if line, _ := next(); line != "holding" {
		t.Fatalf("the worker said %q", line)
	}
	cmd := program(t, dir, "loom", "recover", "held-1")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 5 || !strings.Contains(string(out), "owner_alive") || !strings.Contains(string(out), "loom recover held-1 --force") {
		t.Fatalf("without force: %v, %s", err, out)
	}
	got := do(t, dir, "loom", "recover", "held-1", "--force")
	if !strings.Contains(got, "taken by force from node") {
		t.Fatalf("with force: %s", got)
	}
	_ = stdin.Close()
	do(t, dir, "worker", "run", "held-1")
	if got := do(t, dir, "loom", "result", "held-1"); got != "\"done\"\n" {
		t.Errorf("the result is %s", got)
	}
}

func TestAnInterruptIsExit130(t *testing.T) {
	dir := t.TempDir()
	do(t, dir, "worker", "start", "approval", "wait-1")
	cmd := program(t, dir, "loom", "log", "wait-1", "--follow", "--json", "--store", "sqlite:./loom.db")
	next, _ := lines(t, cmd)
	if _, ok := next(); !ok {
		t.Fatal("no event")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if line, more := next(); more {
		t.Errorf("it goes on: %s", line)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ended with %v, want exit code 130", err)
	}
	if said := fmt.Sprint(cmd.Stderr); !strings.Contains(said, "loom ls --store sqlite:./loom.db") {
		t.Errorf("the hint is for another store: %s", said)
	}
}
