package flowcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// snippet is a piece of code in the README.
type snippet struct {
	code Code
	bad  bool
	text string
}

// readme returns the two snippets of each code, in their order.
func readme(t *testing.T) (all []snippet) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, codes, found := strings.Cut(string(text), "## The codes")
	if !found {
		t.Fatal("the README has no section of codes")
	}
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	for _, section := range strings.Split(codes, "\n### ")[1:] {
		code, _, _ := strings.Cut(section, "\n")
		blocks := block.FindAllStringSubmatch(section, -1)
		if len(blocks) != 2 {
			t.Fatalf("section %s has %d pieces of code, want a bad and a good one", code, len(blocks))
		}
		all = append(all, snippet{Code(code), true, blocks[0][1]}, snippet{Code(code), false, blocks[1][1]})
	}
	return all
}

// imports are the packages that snippets use, by the name that they call them.
var imports = []struct{ name, path string }{
	{"context", "context"}, {"maps", "maps"}, {"rand", "math/rand/v2"}, {"http", "net/http"}, {"os", "os"}, {"exec", "os/exec"},
	{"slices", "slices"}, {"sync", "sync"}, {"time", "time"}, {"uuid", "github.com/google/uuid"}, {"loom", loomPath},
}

// program returns the snippet as a file that compiles.
func (s snippet) program() string {
	rest := "type Order struct {\n\tID, Email string\n\tDue time.Time\n\tLines map[string]time.Duration\n}\n" +
		"func send(ctx context.Context, what string) (string, error) { return what, ctx.Err() }\n" + s.text
	var b strings.Builder
	b.WriteString("package p\n\n")
	for _, i := range imports {
		if regexp.MustCompile(`\b` + i.name + `\.`).MatchString(rest) {
			fmt.Fprintf(&b, "import %q\n", i.path)
		}
	}
	return b.String() + rest
}

// The README documents every code, in the order of Codes; each bad piece has findings of
// its code and no others, each good piece has none.
func TestReadmeIsRight(t *testing.T) {
	snippets := readme(t)
	var documented []Code
	dir := t.TempDir()
	pattern := func(s snippet) string {
		if s.bad {
			return "example.com/bad/" + string(s.code)
		}
		return "example.com/good/" + string(s.code)
	}
	var patterns []string
	for _, s := range snippets {
		if s.bad {
			documented = append(documented, s.code)
		}
		at := filepath.Join(dir, "src", filepath.FromSlash(pattern(s)))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "p.go"), []byte(s.program()), 0o644); err != nil {
			t.Fatal(err)
		}
		patterns = append(patterns, pattern(s))
	}
	if !slices.Equal(documented, Codes()) {
		t.Errorf("the README documents %v, want %v", documented, Codes())
	}

	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: dir,
		Env: append(os.Environ(), "GO111MODULE=off", "GOWORK=off", "GOFLAGS=", "GOPATH="+dir+string(filepath.ListSeparator)+testdata)}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("a piece of code in the README does not compile")
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{newAnalyzer()}, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Fatal(act.Err)
		}
		for _, d := range act.Diagnostics {
			found[act.Package.PkgPath] = append(found[act.Package.PkgPath], d.Category)
		}
	}
	for _, s := range snippets {
		codes := found[pattern(s)]
		switch {
		case !s.bad && len(codes) > 0:
			t.Errorf("the good piece of %s has findings: %v", s.code, codes)
		case s.bad && (len(codes) == 0 || slices.ContainsFunc(codes, func(c string) bool { return c != string(s.code) })):
			t.Errorf("the bad piece of %s has the findings %v, want its own code alone", s.code, codes)
		}
	}
}
