package floors

import (
	"fmt"
	"strings"
	"testing"
)

// A file holds one noun in 100 to 300 lines. Past lookLines look for a second
// noun; past wallLines the test fails.
const (
	lookLines = 400
	wallLines = 600
)

func TestFilesStayBelowTheWall(t *testing.T) {
	problems, notes := fileSizes(here(t))
	for _, n := range notes {
		t.Log(n)
	}
	clean(t, problems)
}

func fileSizes(c *checkout) (problems, notes []string) {
	for _, p := range c.packages {
		for _, f := range p.files {
			switch {
			case f.lines > wallLines:
				problems = append(problems, fmt.Sprintf("%s has %d lines, the wall is at %d", f.name, f.lines, wallLines))
			case f.lines > lookLines:
				notes = append(notes, fmt.Sprintf("note: %s has %d lines; is there a second noun in it?", f.name, f.lines))
			}
		}
	}
	return problems, notes
}

func TestFileSizesCanFail(t *testing.T) {
	of := func(lines int) string { return "package p\n" + strings.Repeat("//\n", lines-1) }
	problems, notes := fileSizes(madeUp(t,
		"a/look.go", of(401), "a/small.go", of(400), "a/tall_test.go", of(601), "a/top.go", of(600),
		"sqlite/go.mod", "module m\n", "sqlite/tall.go", of(700)))
	found(t, problems, "a/tall_test.go has 601 lines", "sqlite/tall.go has 700 lines")
	found(t, notes, "a/look.go has 401", "a/top.go has 600")
}
