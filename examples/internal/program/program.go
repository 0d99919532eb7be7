// Package program builds and runs the examples for their tests, as processes that can be
// killed.
package program

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

// patience is how long a program may run. Those of the examples take a second.
const patience = time.Minute

// Build builds the program in the working directory, which is the test's own, and returns
// the path of the binary.
func Build(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// Start starts a program in dir and returns what kills it with SIGKILL and waits for its
// end.
func Start(t testing.TB, dir, bin string, args ...string) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // a killed one fails
	}
}

// Run runs a program in dir and returns the lines that it printed. It fails the test if the
// program does not end well.
func Run(t testing.TB, dir, bin string, args ...string) string {
	t.Helper()
	out, err := run(t, dir, bin, args, func(string) bool { return false })
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// Kill runs a program until it prints a line that begins with at, kills it there with
// SIGKILL, and returns the lines up to that one. It fails the test if there is none.
func Kill(t testing.TB, at, dir, bin string, args ...string) string {
	t.Helper()
	killed := false
	out, _ := run(t, dir, bin, args, func(line string) bool {
		killed = killed || strings.HasPrefix(line, at)
		return killed
	})
	if !killed {
		t.Fatalf("%v: no line begins with %q:\n%s", args, at, out)
	}
	return out
}

// run shows each line to look, which says whether the program is killed now.
func run(t testing.TB, dir, bin string, args []string, look func(line string) bool) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for s := bufio.NewScanner(stdout); s.Scan(); {
		all.WriteString(s.Text() + "\n")
		if look(s.Text()) {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			break
		}
	}
	return all.String(), cmd.Wait()
}

// Replays drives the flows over every log that a program left in a database, and fails the
// test where they do not fit it, or where there is none.
func Replays(t testing.TB, db string, flows ...loom.AnyFlow) {
	t.Helper()
	rt, err := loom.Open(t.Context(), sqlite.Open(db), loom.Tuning{ClientOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	n := 0
	for s, err := range rt.List(t.Context(), loom.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		report, err := loom.Replay(t.Context(), rt.Log(t.Context(), s.ID, 0), flows...)
		if err != nil || report.Status != s.Status {
			t.Errorf("replay of %s: %+v, %v", s.ID, report, err)
		}
		n++
	}
	if n == 0 {
		t.Error("there is no log")
	}
	t.Logf("tally: replayed_logs=%d", n)
}
