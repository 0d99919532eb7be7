package floors

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// modulePath is the import path of the root module; the leaves are below it.
const modulePath = "github.com/loomwork/loom"

// A checkout is all Go source below one directory, parsed.
type checkout struct {
	fset     *token.FileSet
	fsys     fs.FS
	modules  []string // directories with a go.mod, "." first
	packages []*pkg   // by import path
}

// A pkg is one directory of Go files.
type pkg struct {
	path  string // import path
	dir   string // slash path from the checkout's root
	files []*file
}

// A file is one Go file.
type file struct {
	name  string // slash path from the checkout's root
	test  bool
	lines int
	text  string
	ast   *ast.File
}

// name is the path below the module path, "loom" for the root: what the tables
// call a package.
func (p *pkg) name() string {
	if p.path == modulePath {
		return "loom"
	}
	return strings.TrimPrefix(p.path, modulePath+"/")
}

// at says where pos is, as "file:line".
func (c *checkout) at(pos token.Pos) string {
	at := c.fset.Position(pos)
	return fmt.Sprintf("%s:%d", at.Filename, at.Line)
}

// read parses what is below fsys.
func read(fsys fs.FS) (*checkout, error) {
	c := &checkout{fset: token.NewFileSet(), fsys: fsys}
	byDir := map[string]*pkg{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case d.Name() == "go.mod":
			c.modules = append(c.modules, path.Dir(name))
		case strings.HasSuffix(name, ".go") && d.Name()[0] != '.' && d.Name()[0] != '_':
			f, err := c.parse(name)
			if err != nil {
				return err
			}
			dir := path.Dir(name)
			if byDir[dir] == nil {
				byDir[dir] = &pkg{path: path.Join(modulePath, dir), dir: dir}
				c.packages = append(c.packages, byDir[dir])
			}
			byDir[dir].files = append(byDir[dir].files, f)
		}
		return nil
	})
	slices.SortFunc(c.packages, func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
	slices.Sort(c.modules)
	return c, err
}

func (c *checkout) parse(name string) (*file, error) {
	text, err := fs.ReadFile(c.fsys, name)
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseFile(c.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, test: strings.HasSuffix(name, "_test.go"), text: string(text), ast: tree}
	for s := bufio.NewScanner(strings.NewReader(f.text)); s.Scan(); {
		f.lines++
	}
	return f, nil
}

// root returns the directory of the checkout that the test runs in.
var root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			panic("floors: no go.work above the working directory")
		}
		dir = up
	}
})

var readHere = sync.OnceValues(func() (*checkout, error) { return read(os.DirFS(root())) })

// here returns this checkout.
func here(t *testing.T) *checkout {
	t.Helper()
	c, err := readHere()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// madeUp returns a checkout of the given files: name, text, name, text, …
func madeUp(t *testing.T, nameText ...string) *checkout {
	t.Helper()
	m := fstest.MapFS{}
	for i := 0; i+1 < len(nameText); i += 2 {
		m[nameText[i]] = &fstest.MapFile{Data: []byte(nameText[i+1])}
	}
	c, err := read(m)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clean fails the test with each of the problems.
func clean(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// found fails the test unless problems are as many as wanted and each holds the
// wanted text at its place.
func found(t *testing.T, problems []string, wanted ...string) {
	t.Helper()
	if len(problems) != len(wanted) {
		t.Errorf("the rule found %d problems, want %d:\n%s", len(problems), len(wanted), strings.Join(problems, "\n"))
		return
	}
	for i := range wanted {
		if !strings.Contains(problems[i], wanted[i]) {
			t.Errorf("problem %d is %q, want it to hold %q", i, problems[i], wanted[i])
		}
	}
}
