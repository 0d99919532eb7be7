package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A line is one line of "go test -json".
type line struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
}

// A counter reads the events of test runs, prints what a person needs of them,
// and counts.
type counter struct {
	out     io.Writer
	verbose bool

	passed, failed, skipped int
	packages                int
	failures                []string       // what failed, in order
	sums                    map[string]int // of tally lines, by name

	running map[string]*testRun // by package and test, unfinished ones
	broken  map[string]int      // tests that failed, by package
}

// A testRun is a test that has not ended yet.
type testRun struct {
	output  strings.Builder
	partial string // a line of output that is not complete yet
}

func newCounter(out io.Writer, verbose bool) *counter {
	return &counter{out: out, verbose: verbose, sums: map[string]int{}, running: map[string]*testRun{}, broken: map[string]int{}}
}

// tallyLine is what a test prints to be counted, with or without the place that
// testing.T puts before it.
var tallyLine = regexp.MustCompile(`^(?:\s*\S+\.go:\d+: )?tally: (\w+)=(\d+)$`)

// read takes one line of output of go test. What is no event is printed as it
// is: go test prints plain text where it cannot even begin.
func (c *counter) read(text string) {
	var e line
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Action == "" {
		fmt.Fprintln(c.out, text)
		return
	}
	if e.Action == "build-output" || e.Action == "build-fail" {
		fmt.Fprint(c.out, e.Output)
		return
	}
	key := e.Package + " " + e.Test
	run := c.running[key]
	if run == nil {
		run = &testRun{}
		c.running[key] = run
	}
	switch e.Action {
	case "output":
		c.output(run, e)
	case "pass", "fail", "skip":
		delete(c.running, key)
		if e.Test == "" {
			c.endPackage(e)
		} else {
			c.endTest(run, e)
		}
	}
}

func (c *counter) output(run *testRun, e line) {
	if e.Test == "" {
		if e.Output != "PASS\n" {
			fmt.Fprint(c.out, e.Output)
		}
	} else if c.verbose {
		fmt.Fprint(c.out, e.Output)
	} else if !strings.HasPrefix(e.Output, "=== ") { // the test runner's own progress
		run.output.WriteString(e.Output)
	}
	full, rest, ended := strings.Cut(run.partial+e.Output, "\n")
	if !ended {
		run.partial = full
		return
	}
	run.partial = rest
	if m := tallyLine.FindStringSubmatch(full); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			c.sums[m[1]] += n
		}
	}
}

func (c *counter) endTest(run *testRun, e line) {
	switch e.Action {
	case "pass":
		c.passed++
	case "skip":
		c.skipped++
		fmt.Fprint(c.out, run.output.String()) // a skip says why
	case "fail":
		c.fail(e.Package, e.Package+"."+e.Test)
		fmt.Fprint(c.out, run.output.String())
	}
}

func (c *counter) endPackage(e line) {
	if e.Action != "skip" { // a package without tests
		c.packages++
	}
	// What began and did not end died with the package.
	for _, key := range slices.Sorted(maps.Keys(c.running)) {
		of, test, _ := strings.Cut(key, " ")
		if of != e.Package {
			continue
		}
		fmt.Fprint(c.out, c.running[key].output.String())
		delete(c.running, key)
		c.fail(e.Package, e.Package+"."+test+" (did not end)")
	}
	if e.Action == "fail" && c.broken[e.Package] == 0 {
		c.fail(e.Package, e.Package+" (did not build, or ended outside of a test)")
	}
}

// fail counts one failure of a package.
func (c *counter) fail(pkg, what string) {
	c.failed++
	c.broken[pkg]++
	c.failures = append(c.failures, what)
}
