// Command loom shows, repairs and demonstrates durable executions.
//
//	loom demo            audit a directory tree, killed and resumed on the way
//	loom ls              list executions
//	loom show ID         one execution: status, steps, result
//	loom log ID          its events; --follow waits for more
//	loom replay ID|FILE  try this program's flows against a recorded log
//	loom result ID       its result; waits for it
//	loom signal ID NAME  send it a message
//	loom cancel ID       ask it to give way
//	loom pause ID        halt it until it is resumed
//	loom resume ID       let it go on
//	loom recover [ID]    release what dead nodes left behind
//	loom doctor          check the store and this terminal
//	loom vet [PACKAGE…]  find what makes flows nondeterministic
//	loom version         versions of everything
//
// "loom help VERB" says more about each.
package main

import (
	"os"

	"github.com/loomwork/loom/cmd/loom/internal/cli"
)

func main() { os.Exit(cli.Main()) }
