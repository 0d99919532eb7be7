package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tool builds loomvet and returns its path.
func tool(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loomvet")
	run(t, ".", 0, nil, "go", "build", "-o", path, ".")
	return path
}

// run runs a program, wants its exit code, and returns what it printed.
func run(t *testing.T, dir string, code int, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%s %v exited with %d, want %d:\n%s", program, args, got, code, out)
	}
	return string(out)
}

// The flows that this repository shows to people have no finding.
func TestOwnFlowsAreClean(t *testing.T) {
	loomvet := tool(t)
	for _, module := range []string{"examples", "cmd/loom"} {
		t.Run(module, func(t *testing.T) {
			dir := filepath.Join("..", "..", "..", filepath.FromSlash(module))
			if out := run(t, dir, 0, nil, "go", "vet", "-vettool="+loomvet, "./..."); out != "" {
				t.Errorf("go vet printed:\n%s", out)
			}
		})
	}
}

// A program over the real package loom, in modules of its own: what is found in it,
// through go vet and without, in the same words and the same order each time.
func TestAWrongProgram(t *testing.T) {
	loomvet := tool(t)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/wrong")); err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod.txt"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), strings.ReplaceAll(string(mod), "LOOM", root))
	write(t, filepath.Join(dir, "dep", "go.mod"), "module example.com/dep\n\ngo 1.26\n")
	want, err := os.ReadFile("testdata/wrong/want.txt")
	if err != nil {
		t.Fatal(err)
	}

	env := []string{"GOWORK=off", "GOFLAGS=-mod=mod"}
	through := func() []string {
		return findings(dir, run(t, dir, 1, env, "go", "vet", "-vettool="+loomvet, "./..."))
	}
	alone := func(args ...string) []string { return findings(dir, run(t, dir, 3, env, loomvet, args...)) }
	wanted := strings.Split(strings.TrimSpace(string(want)), "\n")
	for _, got := range [][]string{through(), alone("./...")} {
		if !slices.Equal(got, wanted) {
			t.Errorf("found:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
		}
	}

	// A test's flows are looked at only if asked for.
	if got := strings.Join(alone("-testfiles", "./..."), "\n"); !strings.Contains(got, "shop_test.go:") {
		t.Errorf("with -testfiles nothing was found in the test:\n%s", got)
	}
	// A package without flows is clean.
	if out := run(t, dir, 0, env, loomvet, "./helper"); out != "" {
		t.Errorf("loomvet ./helper printed:\n%s", out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var located = regexp.MustCompile(`^[^ ]+\.go:\d+:\d+: `)

// findings returns the lines that are findings, with paths below dir.
func findings(dir, out string) (lines []string) {
	for line := range strings.Lines(out) {
		line = strings.TrimPrefix(strings.TrimSpace(line), dir+string(filepath.Separator))
		line = strings.TrimPrefix(line, "vet: ")
		if located.MatchString(line) {
			lines = append(lines, strings.TrimPrefix(filepath.ToSlash(line), "./"))
		}
	}
	return lines
}
