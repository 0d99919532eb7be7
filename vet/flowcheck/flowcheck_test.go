package flowcheck

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each package under testdata says in its comments what is found in it, and so also where
// nothing is: in effects, in what flows do not call, and in all of package silent.
func TestFindings(t *testing.T) {
	var patterns []string
	for _, name := range []string{"clock", "random", "world", "branches", "lock", "global", "maps", "names", "contexts",
		"values", "lib", "shop", "allow", "silent"} {
		patterns = append(patterns, "example.com/"+name)
	}
	checked := 0
	for _, r := range analysistest.Run(t, analysistest.TestData(), newAnalyzer(), patterns...) {
		checked += len(r.Action.Diagnostics)
	}
	t.Logf("tally: findings=%d", checked)
}
