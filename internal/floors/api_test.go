package floors

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata anew")

// public are the packages whose exported names are a promise.
var public = []string{"loom", "event", "fold", "store", "schedule", "loomtest"}

// claims B-01, B-20, B-41: the exported names of the public packages, their types and the
// values of their constants are what testdata/api says. Changing them is allowed, and is
// seen.
func TestExportedNamesAreAsRecorded(t *testing.T) {
	c := here(t)
	for _, p := range c.packages {
		if !slices.Contains(public, p.name()) {
			continue
		}
		golden := filepath.Join("testdata", "api", strings.ReplaceAll(p.name(), "/", "-")+".txt")
		got := strings.Join(exported(c, p), "\n") + "\n"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if problems := differences(string(want), got); len(problems) > 0 {
			clean(t, problems)
			t.Errorf("package %s: if that is meant: go test ./internal/floors -run ExportedNames -update, and a line in CHANGELOG.md", p.name())
		}
	}
}

// differences lists the lines that one of two sorted texts has alone.
func differences(want, got string) (problems []string) {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			problems = append(problems, "gone: "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			problems = append(problems, "new: "+line)
		}
	}
	return problems
}

// claim B-41: the one way to start, chosen id or not, is Start, and Attach the way to what
// is there; nothing else of package loom gives a handle, so that there is no helper that
// starts once in a way of its own. claim B-20: what refuses a start stands beside what
// refuses bad input.
func TestStartIsTheOneWayToStart(t *testing.T) {
	c := here(t)
	var starts, errs []string
	for _, p := range c.packages {
		if p.name() != "loom" {
			continue
		}
		for _, line := range exported(c, p) {
			name, result, ok := strings.Cut(line, ") (*Run[")
			if ok {
				starts = append(starts, name[:strings.LastIndex(name, "(")]+" → *Run["+result[:strings.Index(result, "]")+1])
			}
			for _, e := range []string{"ExecutionAlreadyExistsError", "InputValidationError"} {
				if line == "type "+e+" struct" {
					errs = append(errs, e)
				}
			}
		}
	}
	// SignalWithStart is no start-once: what it promises is that a message arrives.
	if want := []string{"func Attach[Out any] → *Run[Out]", "func (*Flow[In, Out]) Start → *Run[Out]",
		"func (*Flow[In, Out]) SignalWithStart → *Run[Out]"}; !sameSet(starts, want) {
		t.Errorf("these give a handle: %q, want %q", starts, want)
	}
	if len(errs) != 2 {
		t.Errorf("of the two errors that refuse a start package loom has %q", errs)
	}
}

func sameSet(a, b []string) bool {
	slices.Sort(a)
	b = slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// exported describes the exported names of a package, one a line, sorted.
func exported(c *checkout, p *pkg) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && receiverExported(d) {
					add("func %s%s%s", receiver(c, d), d.Name.Name, signature(c, d.Type))
				}
			case *ast.GenDecl:
				valuesOf(c, d, add)
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						typeOf(c, s, add)
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// valuesOf describes constants and variables. A constant that takes its value from the one
// above is described by its place, which decides it.
func valuesOf(c *checkout, d *ast.GenDecl, add func(string, ...any)) {
	var typ, value ast.Expr
	for place, s := range d.Specs {
		s, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if s.Type != nil || len(s.Values) > 0 {
			typ, value = s.Type, nil
		}
		for i, id := range s.Names {
			if i < len(s.Values) {
				value = s.Values[i]
			}
			if !id.IsExported() {
				continue
			}
			line := fmt.Sprintf("%s %s", d.Tok, id.Name)
			if typ != nil {
				line += " " + text(c, typ)
			}
			if d.Tok == token.CONST && value != nil {
				line += " = " + text(c, value)
				if strings.Contains(text(c, value), "iota") {
					line += fmt.Sprintf(" at %d", place)
				}
			}
			add("%s", line)
		}
	}
}

// typeOf describes a type, its exported fields and the methods of an interface each on a
// line of their own.
func typeOf(c *checkout, s *ast.TypeSpec, add func(string, ...any)) {
	name := s.Name.Name
	if s.TypeParams != nil {
		name += parameters(c, s.TypeParams)
	}
	equals := ""
	if s.Assign.IsValid() {
		equals = "= "
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		add("type %s %sstruct", name, equals)
		for _, f := range t.Fields.List {
			tag := ""
			if f.Tag != nil {
				tag = " " + f.Tag.Value
			}
			if len(f.Names) == 0 {
				add("type %s struct, embedded %s%s", name, text(c, f.Type), tag)
			}
			for _, id := range f.Names {
				if id.IsExported() {
					add("type %s struct, %s %s%s", name, id.Name, text(c, f.Type), tag)
				}
			}
		}
	case *ast.InterfaceType:
		add("type %s %sinterface", name, equals)
		for _, m := range t.Methods.List {
			if len(m.Names) == 0 {
				add("type %s interface, embedded %s", name, text(c, m.Type))
			}
			for _, id := range m.Names { // an unexported one seals it: it counts
				add("type %s interface, %s%s", name, id.Name, signature(c, m.Type.(*ast.FuncType)))
			}
		}
	default:
		add("type %s %s%s", name, equals, text(c, s.Type))
	}
}

func receiver(c *checkout, d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return "(" + text(c, d.Recv.List[0].Type) + ") "
}

// signature is a function's type parameters, parameters and results.
func signature(c *checkout, t *ast.FuncType) string {
	out := ""
	if t.TypeParams != nil {
		out = parameters(c, t.TypeParams)
	}
	out += "(" + fields(c, t.Params) + ")"
	if t.Results != nil {
		out += " (" + fields(c, t.Results) + ")"
	}
	return out
}

func parameters(c *checkout, l *ast.FieldList) string {
	var all []string
	for _, f := range l.List {
		for _, id := range f.Names {
			all = append(all, id.Name+" "+text(c, f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// fields are the types of parameters or results, whose names are nobody's business.
func fields(c *checkout, l *ast.FieldList) string {
	var all []string
	for _, f := range l.List {
		for range max(1, len(f.Names)) {
			all = append(all, text(c, f.Type))
		}
	}
	return strings.Join(all, ", ")
}

// text prints an expression on one line.
func text(c *checkout, e ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, c.fset, e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func TestExportedNamesCanFail(t *testing.T) {
	c := madeUp(t, "a.go", `package loom
const ( A, b = "x", 2; C State = iota; D; e; F )
type State uint8
type Box[T any] struct { Open bool; shut int; *Lid }
type Lid = interface { Lift(to int) error; down() }
var G, h int
func (b *Box[T]) Fill(with T, more ...T) (n int, err error) { return }
func (b box) Hidden() {}
func Map[In, Out any](f func(In) Out, all []In) []Out { return nil }
`, "a_test.go", "package loom\nfunc J() {}\n")
	got := exported(c, c.packages[0])
	want := []string{
		`const A = "x"`, `const C State = iota at 1`, `const D State = iota at 2`, `const F State = iota at 4`,
		`func (*Box[T]) Fill(T, ...T) (int, error)`, `func Map[In any, Out any](func(In) Out, []In) ([]Out)`,
		`type Box[T any] struct`, `type Box[T any] struct, Open bool`, `type Box[T any] struct, embedded *Lid`,
		`type Lid = interface`, `type Lid interface, Lift(int) (error)`, `type Lid interface, down() `, `type State uint8`, `var G int`,
	}
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	found(t, differences(strings.Join(got, "\n"), strings.Replace(strings.Join(got, "\n"), "uint8", "int", 1)), "gone: type State uint8", "new: type State int")
}
