package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module of the given files and returns its directory.
func module(t *testing.T, nameText ...string) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	nameText = append([]string{"go.mod", "module example.com/m\n\ngo 1.26\n"}, nameText...)
	for i := 0; i+1 < len(nameText); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, nameText[i]), []byte(nameText[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runIn runs tally test over dir and returns the verdict and what was printed.
func runIn(t *testing.T, dir string) (c *counter, printed string, err error) {
	t.Helper()
	var out, errs strings.Builder
	c = newCounter(&out, false)
	err = run(c, &errs, dir, []string{"./..."})
	return c, out.String() + errs.String(), err
}

func TestRunCountsARealModule(t *testing.T) {
	c, out, err := runIn(t, module(t, "m_test.go", `package m
import "testing"
func TestGood(t *testing.T) { t.Log("tally: seeds=3") }
func TestBad(t *testing.T) { t.Error("this is why") }
func TestLater(t *testing.T) { t.Skip("not today") }
`))
	want(t, c, 1, 1, 1)
	if err == nil || !strings.Contains(out, "this is why") || !strings.Contains(out, "not today") || c.sums["seeds"] != 3 {
		t.Errorf("error %v, sums %v, printed:\n%s", err, c.sums, out)
	}
}

func TestRunCountsABuildFailure(t *testing.T) {
	c, out, err := runIn(t, module(t, "m_test.go", "package m\nvar x int = missing\n"))
	want(t, c, 0, 1, 0)
	if err == nil || !strings.Contains(out, "undefined: missing") {
		t.Errorf("error %v, printed:\n%s", err, out)
	}
}

func TestRunReportsAModuleThatCannotBegin(t *testing.T) {
	c, out, err := runIn(t, module(t, "m.go", "package m\n", "go.mod", "what\n"))
	if err == nil && c.failed == 0 {
		t.Errorf("no failure; printed:\n%s", out)
	}
}

func TestNoTestIsAFailure(t *testing.T) {
	var out strings.Builder
	if test(&out, &out, []string{module(t, "m.go", "package m\n")}, []string{"./..."}, false) {
		t.Errorf("a run without a test passes:\n%s", out.String())
	}
	if !strings.HasSuffix(out.String(), "\n0 passed, 1 failed, 0 skipped\n") {
		t.Errorf("the last line is another:\n%s", out.String())
	}
}

func TestPromisesCommand(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("docs/spec/promises.md", "| B-01 | one | kernel | open |\n")
	put("docs/spec/cases.md", "| case 1 | one | kernel | open |\n")
	put("a_test.go", "package a\n// claim B-01\nfunc TestA() {}\n")

	var out strings.Builder
	if promises(&out, &out, dir, false) || !strings.Contains(out.String(), "promises.md is not up to date") {
		t.Errorf("a page that is behind its tests passes: %s", out.String())
	}
	if !promises(&out, &out, dir, true) {
		t.Errorf("writing fails: %s", out.String())
	}
	if !promises(&out, &out, dir, false) {
		t.Errorf("what was written does not agree: %s", out.String())
	}
}
