package storetest_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loomwork/loom/store/storetest"
)

// comments returns the text of every comment of package store, the package
// comment included, one comment a string.
func comments(t *testing.T) []string {
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of package store: %v", err)
	}
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range file.Comments {
			if group == file.Doc && !strings.Contains(name, "doc.go") {
				t.Errorf("%s has a package comment of its own", name)
			}
			out = append(out, group.Text())
		}
	}
	return out
}

func normal(text string) string { return strings.Join(strings.Fields(text), " ") }

// Every MUST of package store has a case, and every quote is one.
func TestEveryMustHasACase(t *testing.T) {
	all := comments(t)
	quotes := map[string]bool{}
	names := map[string]bool{}
	for _, c := range storetest.Cases() {
		quotes[c.Quote] = true
		if names[c.Name] {
			t.Errorf("two cases have the name %s", c.Name)
		}
		names[c.Name] = true
		if !anyContains(all, c.Quote) {
			t.Errorf("%s quotes what package store does not say: %q", c.Name, c.Quote)
		}
	}
	must := 0
	for _, text := range all {
		if strings.HasPrefix(text, "Package store ") {
			continue // it says what MUST means
		}
		for _, s := range sentences(text) {
			if !strings.Contains(s, "MUST") {
				continue
			}
			must++
			quoted := false
			for q := range quotes {
				quoted = quoted || strings.Contains(q, s)
			}
			if !quoted {
				t.Errorf("no case quotes %q", s)
			}
		}
	}
	if must < 14 {
		t.Errorf("only %d sentences with MUST were found; are they still read rightly?", must)
	}
}

func anyContains(texts []string, s string) bool {
	for _, t := range texts {
		if strings.Contains(normal(t), s) {
			return true
		}
	}
	return false
}

var fullStop = regexp.MustCompile(`[.](?: |$)`)

// sentences splits a comment at the ends of paragraphs and at full stops.
func sentences(text string) []string {
	var out []string
	for _, par := range strings.Split(text, "\n\n") {
		par = normal(par)
		start := 0
		for _, at := range fullStop.FindAllStringIndex(par, -1) {
			out = append(out, par[start:at[0]+1])
			start = at[1]
		}
		if start < len(par) {
			out = append(out, par[start:])
		}
	}
	return out
}
