package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// vetted is a flow with two findings.
const vetted = `package flows

import (
	"os"
	"time"

	"github.com/loomwork/loom"
)

var Flow = loom.NewFlow("flow", func(ctx loom.Context, in string) (string, error) {
	_ = time.Now() //loom:allow only a line of log shows it
	return os.Getenv(in), loom.Sleep(ctx, "nap-"+in, time.Second)
})
`

const vettedLines = `flows.go:12:9: os.Getenv depends on the process and its machine: do it in an effect, loom.Do (loom:env)
flows.go:12:40: the name given to loom.Sleep is not a constant: equal names are numbered, so name the kind of step, and put what differs in loom.Args (loom:name)
`

const vettedJSON = `{"schema":"loom.cli/1","kind":"vet","data":{"packages":["./..."],"findings":[` +
	`{"file":"flows.go","line":12,"column":9,"code":"env","message":"os.Getenv depends on the process and its machine: do it in an effect, loom.Do (loom:env)"},` +
	`{"file":"flows.go","line":12,"column":40,"code":"name","message":"the name given to loom.Sleep is not a constant: equal names are numbered, so name the kind of step, and put what differs in loom.Args (loom:name)"}]}}
`

// TestVet builds the program, because the go command calls it again by its path: what it
// says of a module with findings, of one without, and of one that does not compile.
func TestVet(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	loom := filepath.Join(t.TempDir(), "loom")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", loom, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"flows.go": vetted,
		"go.sum":   string(sum),
		"go.mod": "module example.com/flows\n\ngo 1.26\n\nrequire github.com/loomwork/loom v0.0.0\n\n" +
			"require github.com/oklog/ulid/v2 v2.1.2 // indirect\n\nreplace github.com/loomwork/loom => " + root + "\n",
		"clean/clean.go":   "// Package clean has no flow.\npackage clean\n",
		"broken/broken.go": "package broken\n\nfunc f() { undefined() }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	vet := func(exit int, args ...string) (out, errs string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), loom, append([]string{"vet"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		var o, e strings.Builder
		cmd.Stdout, cmd.Stderr = &o, &e
		var failed *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != exit {
			t.Fatalf("loom vet %v exited with %d, want %d\n%s%s", args, got, exit, o.String(), e.String())
		}
		return o.String(), e.String()
	}

	if out, errs := vet(0, "./clean"); out+errs != "" {
		t.Errorf("a clean package: %s%s", out, errs)
	}
	if _, errs := vet(1, "./broken"); !strings.Contains(errs, "undefined: undefined") || !strings.Contains(errs, "loom: not_checked: ") {
		t.Errorf("a package that does not compile: %s", errs)
	}
	if err := os.RemoveAll(filepath.Join(dir, "broken")); err != nil {
		t.Fatal(err)
	}
	if out, errs := vet(7); out != vettedLines || errs != "loom: check_failed: 2 findings\n" {
		t.Errorf("got:\n%s%s", out, errs)
	}
	if out, _ := vet(7, "--json"); out != vettedJSON {
		t.Errorf("got:\n%s", out)
	}
}
