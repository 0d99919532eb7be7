// Package program builds and runs the examples for their tests, as processes that can be
// killed.
package program

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
	cmd := exec.CommandContext(t.Context(), bin, args...)
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
