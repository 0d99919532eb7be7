package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom/internal/promise"
)

// test runs the tests of the modules and prints the counts. It reports whether
// all is well.
func test(out, errs io.Writer, modules, args []string, verbose bool) bool {
	began := time.Now()
	c := newCounter(out, verbose)
	for _, dir := range modules {
		if len(modules) > 1 {
			fmt.Fprintf(out, "# module %s\n", dir)
		}
		before := c.failed
		if err := run(c, errs, dir, args); err != nil && c.failed == before {
			c.fail(dir, fmt.Sprintf("go test in module %s: %v", dir, err))
		}
	}
	if c.passed+c.failed+c.skipped == 0 {
		c.fail("", "no test ran")
	}
	ok := report(out, errs, c, len(modules), time.Since(began))
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped)
	return ok && c.failed == 0
}

// run runs go test with args in one module and feeds its events to c.
func run(c *counter, errs io.Writer, dir string, args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, errs
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := bufio.NewReader(events)
	for {
		text, err := r.ReadString('\n')
		if text != "" {
			c.read(strings.TrimSuffix(text, "\n"))
		}
		if err != nil {
			break
		}
	}
	return cmd.Wait()
}

// report prints everything but the last line.
func report(out, errs io.Writer, c *counter, modules int, took time.Duration) bool {
	fmt.Fprintln(out)
	for _, what := range c.failures {
		fmt.Fprintln(out, "failed:", what)
	}
	fmt.Fprintf(out, "tests: %d run in %d packages of %d modules, %s\n",
		c.passed+c.failed+c.skipped, c.packages, modules, took.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(c.sums)) {
		fmt.Fprintf(out, "%s: %d\n", name, c.sums[name])
	}
	here := os.DirFS(".")
	named, err := promise.Scan(here)
	if err != nil {
		fmt.Fprintln(errs, "tally:", err)
		return false
	}
	pages, err := promise.ReadPages(here)
	if err != nil {
		fmt.Fprintln(errs, "tally:", err)
		return false
	}
	for _, class := range promise.Classes() {
		fmt.Fprintf(out, "%s: %d of %d named by tests\n", class, named.Count(class), promise.Total(pages, class))
	}
	return true
}
