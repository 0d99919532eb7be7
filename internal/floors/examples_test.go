package floors

import (
	"fmt"
	"go/ast"
	"go/doc"
	"maps"
	"slices"
	"strings"
	"testing"
)

// unshown are exported names of package loom that are not for who writes flows.
var unshown = map[string]string{
	"Composed": "its argument is a type of internal/composed, so that only Loom's own packages can call it",
}

func TestEveryVerbHasAnExample(t *testing.T) { clean(t, unexampled(here(t), "loom", unshown)) }

// unexampled finds what somebody who uses a package can call or set and no executed
// example shows: its exported functions and methods, and the structs that are options.
// The example of M of type T is ExampleT_M, with a further word behind it if there are
// several. Errors speak for themselves; they are shown by what returns them.
func unexampled(c *checkout, name string, except map[string]string) (problems []string) {
	for _, p := range c.packages {
		if p.name() != name {
			continue
		}
		shown := examples(p)
		verbs := verbs(p)
		for _, v := range slices.Sorted(maps.Keys(verbs)) {
			switch {
			case except[v] != "" && shown[v]:
				problems = append(problems, fmt.Sprintf("%s has an example: it needs no exception", v))
			case except[v] == "" && !shown[v]:
				problems = append(problems, fmt.Sprintf("%s: %s has no executed example: write Example%s, with an // Output:", verbs[v], v, v))
			}
		}
		for _, v := range slices.Sorted(maps.Keys(except)) {
			if verbs[v] == "" {
				problems = append(problems, fmt.Sprintf("%s, an exception, is no verb", v))
			}
		}
	}
	return problems
}

// verbs returns where each verb of a package is declared, by its name in an example.
func verbs(p *pkg) map[string]string {
	found := map[string]string{}
	methods := map[string][]string{} // by type, the unexported ones too
	var options []string             // unexported methods of exported interfaces
	types := map[string]string{}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				of := receiverType(d)
				methods[of] = append(methods[of], d.Name.Name)
				if of == "" && ast.IsExported(d.Name.Name) {
					found[d.Name.Name] = f.name
				} else if ast.IsExported(of) && ast.IsExported(d.Name.Name) && d.Name.Name != "String" {
					found[of+"_"+d.Name.Name] = f.name
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					t, ok := s.(*ast.TypeSpec)
					if !ok || !t.Name.IsExported() {
						continue
					}
					switch u := t.Type.(type) {
					case *ast.InterfaceType:
						for _, m := range u.Methods.List {
							if len(m.Names) == 1 && !m.Names[0].IsExported() {
								options = append(options, m.Names[0].Name)
							}
						}
					case *ast.StructType:
						types[t.Name.Name] = f.name
					}
				}
			}
		}
	}
	for of, ms := range methods {
		if slices.Contains(ms, "Error") || of == "RecordedError" {
			for _, m := range ms {
				delete(found, of+"_"+m)
			}
		}
		if types[of] != "" && slices.ContainsFunc(ms, func(m string) bool { return slices.Contains(options, m) }) {
			found[of] = types[of]
		}
	}
	return found
}

// receiverType returns the name of the type that a method belongs to, "" for a function.
func receiverType(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.IndexListExpr:
			t = u.X
		case *ast.Ident:
			return u.Name
		default:
			return ""
		}
	}
}

// examples returns what the examples of a package show that are executed: without an
// output they would only be compiled.
func examples(p *pkg) map[string]bool {
	shown := map[string]bool{}
	for _, f := range p.files {
		if !f.test {
			continue
		}
		for _, e := range doc.Examples(f.ast) {
			if e.Output == "" && !e.EmptyOutput {
				continue
			}
			words := strings.Split(e.Name, "_")
			shown[words[0]] = true
			if len(words) > 1 && ast.IsExported(words[1]) {
				shown[words[0]+"_"+words[1]] = true
			}
		}
	}
	return shown
}

func TestVerbsWithoutAnExampleAreFound(t *testing.T) {
	c := madeUp(t,
		"a.go", `package loom
type Option interface{ apply() }
type Tuning struct{ X int }
func (Tuning) apply() {}
type Plain struct{ X int }
type Run[T any] struct{ v T }
func (r *Run[T]) Get() T { return r.v }
func (r *Run[T]) Put(v T) { r.v = v }
func (r *Run[T]) String() string { return "" }
func (r *Run[T]) hidden() {}
type Bad struct{}
func (Bad) Error() string { return "" }
func (Bad) LoomCode() string { return "" }
func Do() {}
func Inner() {}
func Seldom() {}
func Silent() {}
func helper() {}
`,
		"a_test.go", `package loom_test
import "fmt"
func ExampleDo() {
	fmt.Println(1)
	// Output: 1
}
func ExampleRun_Get_twice() {
	fmt.Println(1)
	// Output: 1
}
func ExampleSilent() { fmt.Println(1) }
func ExampleSeldom() {
	// Output:
}
`)
	found(t, unexampled(c, "loom", map[string]string{"Inner": "not for them", "Seldom": "shown after all", "Gone": "was here"}),
		"Run_Put has no executed example", "Seldom has an example", "Silent has no executed example",
		"Tuning has no executed example", "Gone, an exception, is no verb")
}
