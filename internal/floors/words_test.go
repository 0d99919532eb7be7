package floors

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestKitAndDecoratorsNameNoBackend(t *testing.T) { clean(t, backendNames(here(t))) }

func TestNothingPointsOutOfTheCheckout(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root()
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("this checkout has no git: %v", err)
	}
	clean(t, outside(os.DirFS(root()), strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")))
}

// backend matches a backend's name, wherever it stands.
var backend = regexp.MustCompile(`(?i)sqlite|postgres|memstore`)

// backendNames finds where the kit or a decorator knows which backend it is
// over, comments included: they may ask for parts and levels, never for names.
func backendNames(c *checkout) (problems []string) {
	for _, p := range c.packages {
		if !within(p.name(), "store/storetest/...") && !isDecorator(p.name()) {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			for i, line := range strings.Split(f.text, "\n") {
				if name := backend.FindString(line); name != "" {
					problems = append(problems, fmt.Sprintf("%s:%d: package %s may not name the backend %s", f.name, i+1, p.name(), name))
				}
			}
		}
	}
	return problems
}

// elsewhere are texts that only make sense on one machine. They are put
// together here so that this file holds none of them.
var elsewhere = []string{"shared" + "/design", ".." + "/shared", "/wor" + "k/"}

// outside finds those texts in the named files. Files with a NUL are not text.
func outside(fsys fs.FS, names []string) (problems []string) {
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, not committed yet
		}
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, needle := range elsewhere {
				if strings.Contains(line, needle) {
					problems = append(problems, fmt.Sprintf("%s:%d: %q is not in this checkout", name, i+1, needle))
				}
			}
		}
	}
	return problems
}

func TestBackendNamesCanFail(t *testing.T) {
	found(t, backendNames(madeUp(t,
		"store/storetest/a.go", "package storetest\n// on SQLite it differs\n",
		"store/storetest/a_test.go", "package storetest\n// memstore\n",
		"store/shard/a.go", "package shard\nvar x = \"postgresql\"\n",
		"store/a.go", "package store\n// Postgres, SQLite\n",
	)), "shard may not name the backend postgres", "storetest/a.go:2: package store/storetest may not name the backend SQLite")
}

func TestOutsideCanFail(t *testing.T) {
	c := madeUp(t, "a.md", "see .."+"/shared\nand\n/wor"+"k/main\n", "b.md", "clean\n", "c.bin", "\x00/wor"+"k/", "d.md", "/wor"+"k/")
	found(t, outside(c.fsys, []string{"a.md", "b.md", "c.bin", "gone.md"}), "a.md:1:", "a.md:3:")
}
