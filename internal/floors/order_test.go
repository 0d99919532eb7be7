package floors

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ordered are the packages in which the random order of a map could reach a
// log. Their map ranges say why the order does not matter, or are not there.
var ordered = []string{"event", "fold", "internal/kernel", "internal/rt", "loom"}

// excuse is what stands on the line of a map range, or on the line above.
var excuse = regexp.MustCompile(`^// order does not matter: \S`)

func TestNoMapOrderReachesALog(t *testing.T) {
	c := here(t)
	var paths []string
	for _, p := range c.packages {
		if slices.Contains(ordered, p.name()) {
			paths = append(paths, p.path)
		}
	}
	clean(t, mapRanges(c, exportData(t, paths...)))
}

// exportData returns an importer for what the packages import, from the build
// cache of the go command.
func exportData(t *testing.T, paths ...string) types.Importer {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-export", "-deps", "-json=ImportPath,Export"}, paths...)...)
	cmd.Dir = root()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		exports[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	})
}

// mapRanges finds what walks a map in its random order: range over a map, and
// the iterators of package maps unless they are sorted on the spot.
func mapRanges(c *checkout, imp types.Importer) (problems []string) {
	for _, p := range c.packages {
		if !slices.Contains(ordered, p.name()) {
			continue
		}
		var trees []*ast.File
		for _, f := range p.files {
			if !f.test {
				trees = append(trees, f.ast)
			}
		}
		// Errors are not this rule's: files for other build tags may clash.
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		conf := types.Config{Importer: imp, Error: func(error) {}}
		_, _ = conf.Check(p.path, c.fset, trees, info)
		for _, f := range p.files {
			if f.test {
				continue
			}
			w := walker{c: c, info: info, names: imported(f), excused: excuses(c, f)}
			ast.Walk(&w, f.ast)
			problems = append(problems, w.problems...)
		}
	}
	return problems
}

type walker struct {
	c        *checkout
	info     *types.Info
	names    map[string]string
	excused  map[int]bool // lines
	sorted   []ast.Expr   // arguments of a sorting call
	problems []string
}

func (w *walker) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.RangeStmt:
		switch of := w.info.Types[n.X].Type; {
		case of == nil || of == types.Typ[types.Invalid]:
			w.add(n.Pos(), "range over something whose type is not known: does the package compile?")
		case overMap(of):
			w.add(n.Pos(), "range over a map")
		}
	case *ast.CallExpr:
		if x, ok := n.Fun.(*ast.SelectorExpr); ok {
			of, name := ban{names: w.names}.selected(x)
			switch {
			case of == "slices" && strings.HasPrefix(name, "Sorted"):
				w.sorted = append(w.sorted, n.Args...)
			case of == "maps" && (name == "Keys" || name == "Values" || name == "All") && !slices.Contains(w.sorted, ast.Expr(n)):
				w.add(n.Pos(), "maps."+name+" without sorting")
			case name == "MapRange" || name == "MapKeys":
				w.add(n.Pos(), "reflect's "+name)
			}
		}
	}
	return w
}

func (w *walker) add(pos token.Pos, what string) {
	if line := w.c.fset.Position(pos).Line; !w.excused[line] {
		w.problems = append(w.problems, fmt.Sprintf("%s: %s; sort, or say \"// order does not matter: why\"", w.c.at(pos), what))
	}
}

// overMap reports whether a range over t walks a map.
func overMap(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		t = p.Constraint()
		if i, ok := t.Underlying().(*types.Interface); ok && i.NumEmbeddeds() == 1 {
			if u, ok := i.EmbeddedType(0).(*types.Union); ok && u.Len() > 0 {
				t = u.Term(0).Type()
			} else {
				t = i.EmbeddedType(0)
			}
		}
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// excuses returns the lines of f that an excuse covers: its own and the next.
func excuses(c *checkout, f *file) map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.ast.Comments {
		for _, comment := range group.List {
			if excuse.MatchString(comment.Text) {
				line := c.fset.Position(comment.Pos()).Line
				lines[line], lines[line+1] = true, true
			}
		}
	}
	return lines
}

func TestMapRangesCanFail(t *testing.T) {
	found(t, mapRanges(madeUp(t, "internal/kernel/a.go", `package kernel
import ("maps"; "slices")
type set map[string]bool
func generic[M ~map[int]int](m M) { for range m {} }
func f(s set, l []int) {
	for range s {}
	for range l {}
	// order does not matter: only counted
	for range s {}
	for range s {} // order does not matter: only counted
	// order does not matter:
	for range s {}
	for range maps.Keys(s) {}
	_ = slices.Sorted(maps.Keys(s))
	_ = slices.Collect(maps.Values(s))
	for range missing {}
}
`, "store/a.go", "package store\nfunc f(m map[int]int) { for range m {} }\n"),
		exportData(t, "maps", "slices")),
		"kernel/a.go:4: range over a map",
		"kernel/a.go:6: range over a map",
		"kernel/a.go:12: range over a map",
		"kernel/a.go:13: maps.Keys without sorting",
		"kernel/a.go:15: maps.Values without sorting",
		"kernel/a.go:16: range over something whose type is not known",
	)
}
