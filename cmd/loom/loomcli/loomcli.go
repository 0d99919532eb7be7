// Package loomcli is the loom command for a program with flows of its own: all of its
// verbs, and those that need the code of a flow, such as replay, for the program's.
//
//	func main() { os.Exit(loomcli.Main(shop.Order, shop.Refund)) }
//
// A build in CI can so replay the logs of yesterday against the code of today, and an
// operator try a fix against the execution that waits for it.
package loomcli

import (
	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/cli"
)

// Main runs the command line of this process, os.Args, over the given flows, several
// versions of one among them if need be, and returns the exit code: "loom --help" lists
// the verbs and the codes. An interrupt ends the verb, and a second one the process.
func Main(flows ...loom.AnyFlow) int { return cli.Main(flows...) }
