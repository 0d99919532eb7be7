package floors

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// creators are the packages that may state that an execution must not exist
// yet, which is what creates one: the contract, the runtime, the kit and the
// simulator. Everything else starts through package loom.
var creators = []string{"store", "loom", "internal/kernel", "store/storetest/...", "internal/sim/...", "store/memstore", "sqlite/...", "postgres/..."}

// writers are the packages that may call Commit on a store: those, the
// decorators, which pass it on, what deletes, compacts and forks, and the operator
// who takes an execution from its owner.
var writers = append([]string{"lifecycle", "bench/...", "cmd/loom/internal/repair"}, creators...)

// claim B-13
func TestOnlyTheKernelCreatesExecutions(t *testing.T) { clean(t, creations(here(t))) }

// claim A-47
func TestReviewedListOfWriters(t *testing.T) { clean(t, commits(here(t))) }

// creations finds who names store.Absent and is no creator.
func creations(c *checkout) []string {
	return selections(c, creators, func(of, name string, called bool) string {
		if of == modulePath+"/store" && name == "Absent" {
			return "expect an execution to be absent, which creates it; start it through package loom"
		}
		return ""
	})
}

// commits finds who calls a method Commit of something and is no writer.
func commits(c *checkout) []string {
	return selections(c, writers, func(of, name string, called bool) string {
		if of == "" && name == "Commit" && called {
			return "call Commit: the list of writers has reviewed members only"
		}
		return ""
	})
}

// selections asks refuse about each selection in the packages that are not
// allowed, outside of tests. of is the import that is selected from, if it is
// one.
func selections(c *checkout, allowed []string, refuse func(of, name string, called bool) string) (problems []string) {
	for _, p := range c.packages {
		if slices.ContainsFunc(allowed, func(row string) bool { return within(p.name(), row) }) || isDecorator(p.name()) {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			b := ban{names: imported(f)}
			called := map[ast.Expr]bool{}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					called[n.Fun] = true
				case *ast.SelectorExpr:
					of, name := b.selected(n)
					if name == "" {
						name = n.Sel.Name
					}
					if what := refuse(of, name, called[n]); what != "" {
						problems = append(problems, fmt.Sprintf("%s: package %s may not %s", c.at(n.Pos()), p.name(), what))
					}
				}
				return true
			})
		}
	}
	return problems
}

func TestDoorsCanFail(t *testing.T) {
	text := "import st \"" + modulePath + "/store\"\nfunc f(s st.Store) { s.Log.Commit(nil, st.Request{Expect: st.Absent()}) }\n"
	c := madeUp(t,
		"internal/sim/a.go", "package sim\n"+text,
		"lifecycle/a.go", "package lifecycle\n"+text,
		"schedule/a.go", "package schedule\n"+text,
		"schedule/a_test.go", "package schedule\n"+text,
		"store/tenant/a.go", "package tenant\n"+text,
	)
	found(t, creations(c), "package lifecycle may not expect", "package schedule may not expect")
	found(t, commits(c), "package schedule may not call Commit")
}
