// Command tally runs the tests of all modules and counts what they showed, and
// keeps the pages of promises in docs/spec true to the tests.
//
//	go run ./internal/tally test [-v] [-flags "-count=1"] [-packages "./..."] . sqlite cmd/loom
//	go run ./internal/tally promises [-write]
//
// "test" runs "go test -json" over the packages of each module directory and prints what a
// person needs: a line a package, all output of what failed, and at the end the
// counts. A test adds to the counts with a line of output of the form
//
//	tally: seeds=400
//
// whose numbers are summed by name over all tests. The last line is always
// "N passed, N failed, N skipped"; the exit code is 1 if anything failed, a
// build included, or if no test ran.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	var ok bool
	switch verb, args := os.Args[1], os.Args[2:]; verb {
	case "test":
		flags := flag.NewFlagSet("tally test", flag.ExitOnError)
		verbose := flags.Bool("v", false, "print the output of tests that pass, too")
		testFlags := flags.String("flags", "", "flags for go test, separated by blanks")
		packages := flags.String("packages", "./...", "package patterns for go test, separated by blanks")
		_ = flags.Parse(args)
		modules := flags.Args()
		if len(modules) == 0 {
			modules = []string{"."}
		}
		goTest := append(strings.Fields(*testFlags), strings.Fields(*packages)...)
		ok = test(os.Stdout, os.Stderr, modules, goTest, *verbose)
	case "promises":
		flags := flag.NewFlagSet("tally promises", flag.ExitOnError)
		write := flags.Bool("write", false, "write the last columns of the pages")
		_ = flags.Parse(args)
		ok = promises(os.Stdout, os.Stderr, ".", *write)
	default:
		usage(os.Stderr)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, `usage: tally test [-v] [-flags "…"] [-packages "…"] module…`)
	fmt.Fprintln(w, `       tally promises [-write]`)
}
