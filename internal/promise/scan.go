package promise

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Named says which tests name a promise: id → places, sorted, each once. A
// place is "<directory>.<function>" or the path of a script.
type Named map[string][]string

// Count returns how many promises of a class are named.
func (n Named) Count(c Class) (count int) {
	for id := range n {
		if ClassOf(id) == c {
			count++
		}
	}
	return count
}

// kits are directories whose ordinary files are tests that others run.
var kits = []string{"store/storetest", "internal/sim", "loomtest"}

// blind are directories whose tests talk about the forms themselves.
var blind = []string{"internal/promise", "internal/tally"}

// Scan reads the tests below fsys. The error names a file that cannot be read
// or parsed.
func Scan(fsys fs.FS) (Named, error) {
	n := Named{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name != "." && (d.Name()[0] == '.' || d.Name()[0] == '_' || slices.Contains(blind, name)) {
				return fs.SkipDir
			}
			return nil
		case !isTest(name):
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".go") {
			return n.goFile(name, text)
		}
		for _, id := range mentioned(string(text)) {
			n.add(id, name)
		}
		return nil
	})
	for id := range n {
		slices.Sort(n[id])
	}
	return n, err
}

// isTest reports whether a file is a place where a promise can be named.
func isTest(name string) bool {
	inTestdata := strings.Contains("/"+name, "/testdata/")
	switch path.Ext(name) {
	case ".txt", ".txtar":
		return inTestdata
	case ".go":
		return !inTestdata && (strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(kits, func(dir string) bool {
			return strings.HasPrefix(name, dir+"/")
		}))
	}
	return false
}

func (n Named) add(id, place string) {
	if !slices.Contains(n[id], place) {
		n[id] = append(n[id], place)
	}
}

// goFile looks at comments, at string literals (names of subtests) and at the
// names of functions; code such as a switch's "case 3" is none of them.
func (n Named) goFile(name string, text []byte) error {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	at := func(pos token.Pos) string { return placeOf(fset, tree, name, pos) }
	for _, group := range tree.Comments {
		for _, id := range mentioned(group.Text()) {
			n.add(id, at(group.Pos()))
		}
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
				for _, id := range mentioned(s) {
					n.add(id, at(node.Pos()))
				}
			}
		case *ast.FuncDecl:
			if m := inName.FindStringSubmatch(node.Name.Name); m != nil {
				n.add("race "+m[1], at(node.Pos()))
			}
		}
		return true
	})
	return nil
}

// placeOf names the declaration that pos is in or on the last line of, else the
// one that follows it.
func placeOf(fset *token.FileSet, tree *ast.File, file string, pos token.Pos) string {
	dir, line := path.Dir(file), fset.Position(pos).Line
	if dir == "." {
		dir = "loom"
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if fset.Position(d.End()).Line >= line {
				return fmt.Sprintf("%s.%s", dir, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if fset.Position(s.End()).Line < line {
					continue
				}
				switch s := s.(type) {
				case *ast.ValueSpec:
					return fmt.Sprintf("%s.%s", dir, s.Names[0].Name)
				case *ast.TypeSpec:
					return fmt.Sprintf("%s.%s", dir, s.Name.Name)
				}
			}
		}
	}
	return file
}
