package floors

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageHasAComment(t *testing.T) { clean(t, packageComments(here(t))) }

func TestEveryExportedNameHasAComment(t *testing.T) { clean(t, docComments(here(t))) }

// packageComments finds packages that do not say what they are.
func packageComments(c *checkout) (problems []string) {
	for _, p := range c.packages {
		if !slices.ContainsFunc(p.files, func(f *file) bool { return strings.TrimSpace(f.ast.Doc.Text()) != "" }) {
			problems = append(problems, fmt.Sprintf("%s: package %s has no package comment", p.dir, p.name()))
		}
	}
	return problems
}

// said are methods whose name says everything: each belongs to an interface of
// the standard library.
var said = []string{"Error", "String", "GoString", "Format", "Is", "As", "Unwrap", "Len", "Less", "Swap", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}

// docComments finds exported names without a comment, outside of tests and of
// internal packages.
func docComments(c *checkout) (problems []string) {
	for _, p := range c.packages {
		if strings.Contains("/"+p.path+"/", "/internal/") {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			add := func(id *ast.Ident) {
				problems = append(problems, fmt.Sprintf("%s: %s.%s has no doc comment", c.at(id.Pos()), p.name(), id.Name))
			}
			for _, d := range f.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() && d.Doc == nil && receiverExported(d) && !(d.Recv != nil && slices.Contains(said, d.Name.Name)) {
						add(d.Name)
					}
				case *ast.GenDecl:
					for _, id := range undocumented(d) {
						add(id)
					}
				}
			}
		}
	}
	return problems
}

// receiverExported reports whether a user can see the method; true for a
// function.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// undocumented returns the exported names of a declaration that have no comment
// of their own, on their line or over their group. A comment over a group does
// for constants and variables, not for types.
func undocumented(d *ast.GenDecl) (ids []*ast.Ident) {
	if d.Tok == token.IMPORT {
		return nil
	}
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && (d.Lparen.IsValid() || d.Doc == nil) {
				ids = append(ids, s.Name)
			}
		case *ast.ValueSpec:
			for _, id := range s.Names {
				if id.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

func TestPackageCommentsCanFail(t *testing.T) {
	found(t, packageComments(madeUp(t,
		"event/a.go", "package event\n", "event/b.go", "// Package event is.\npackage event\n",
		"fold/a.go", "// far away\n\npackage fold\n",
		"sqlite/go.mod", "module m\n", "sqlite/inner/a.go", "package inner\n",
	)), "fold has no package comment", "sqlite/inner has no package comment")
}

func TestDocCommentsCanFail(t *testing.T) {
	found(t, docComments(madeUp(t,
		"a.go", `package loom
type A struct{}
// B is.
type B[T any] struct{}
type ( 
	C int
	D int // D is.
)
// E and F are.
const ( E = 1; F = 2 )
var G, g = 1, 2
func (A) Error() string { return "" }
func (a *B[T]) Do() {}
func (g2) Do() {}
// H does.
func H() {}
func I() {}
type g2 int
`,
		"a_test.go", "package loom\nfunc J() {}\n",
		"internal/kernel/a.go", "package kernel\nfunc K() {}\n",
		"cmd/loom/internal/x/a.go", "package x\nfunc L() {}\n",
	)), "loom.A has", "loom.C has", "loom.G has", "a.go:13: loom.Do has", "loom.I has")
}
