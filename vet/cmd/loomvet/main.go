// Command loomvet checks that flows are deterministic: it runs the analyzer of package
// [flowcheck] over packages.
//
//	loomvet ./...
//	go vet -vettool=$(which loomvet) ./...
//
// Each finding is one line, file:line:col: message (loom:code). With findings loomvet
// exits with 3, go vet with 1.
package main

import (
	"golang.org/x/tools/go/analysis/singlechecker"

	"github.com/loomwork/loom/vet/flowcheck"
)

func main() { singlechecker.Main(flowcheck.Analyzer) }
