package floors

import (
	"fmt"
	"slices"
	"testing"
)

// forTests are packages that only tests may import, and they each other: they
// write past the rules that everybody else has to keep.
var forTests = []string{"store/storetest/seedapi", "store/storetest/oddstore"}

func TestOnlyTestsUseTheOlderOperations(t *testing.T) { clean(t, testPackages(here(t))) }

// testPackages finds imports of them outside of tests.
func testPackages(c *checkout) (problems []string) {
	for _, p := range c.packages {
		if slices.Contains(forTests, p.name()) {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, spec := range f.ast.Imports {
				if target, ours := ourPackage(spec.Path.Value); ours && slices.Contains(forTests, target) {
					problems = append(problems, fmt.Sprintf("%s: %s may not import %s outside of tests", c.at(spec.Pos()), p.name(), target))
				}
			}
		}
	}
	return problems
}

func TestTestPackagesCanFail(t *testing.T) {
	text := "import _ \"" + modulePath + "/store/storetest/seedapi\"\n"
	found(t, testPackages(madeUp(t,
		"store/storetest/oddstore/a.go", "package oddstore\n"+text,
		"store/storetest/a.go", "package storetest\n"+text,
		"lifecycle/a.go", "package lifecycle\n"+text,
		"lifecycle/a_test.go", "package lifecycle\n"+text,
	)), "lifecycle may not import store/storetest/seedapi", "storetest may not import store/storetest/seedapi")
}
