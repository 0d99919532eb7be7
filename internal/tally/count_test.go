package main

import (
	"strings"
	"testing"
)

// feed gives events to a new counter and returns it with what it printed.
func feed(verbose bool, events ...string) (*counter, string) {
	var out strings.Builder
	c := newCounter(&out, verbose)
	for _, e := range events {
		c.read(e)
	}
	return c, out.String()
}

func want(t *testing.T, c *counter, passed, failed, skipped int) {
	t.Helper()
	if c.passed != passed || c.failed != failed || c.skipped != skipped {
		t.Errorf("counted %d passed, %d failed, %d skipped, want %d, %d, %d", c.passed, c.failed, c.skipped, passed, failed, skipped)
	}
}

func TestPassingTestsAreCountedAndQuiet(t *testing.T) {
	events := []string{
		`{"Action":"start","Package":"p"}`,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: tally: seeds=40\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"tally: see"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"ds=2\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"no tally: seeds=1000\n"}`,
		`{"Action":"run","Package":"p","Test":"TestA/sub"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/sub"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Output":"PASS\n"}`,
		`{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}`,
		`{"Action":"pass","Package":"p"}`,
		`{"Action":"skip","Package":"without"}`,
	}
	c, out := feed(false, events...)
	want(t, c, 2, 0, 0)
	if c.sums["seeds"] != 42 || c.packages != 1 {
		t.Errorf("%d seeds in %d packages, want 42 in 1", c.sums["seeds"], c.packages)
	}
	if out != "ok  \tp\t0.1s\n" {
		t.Errorf("printed %q", out)
	}
	if _, out := feed(true, events...); !strings.Contains(out, "seeds=40") {
		t.Errorf("with -v, printed %q", out)
	}
}

func TestFailingAndSkippedTestsShowTheirOutput(t *testing.T) {
	c, out := feed(false,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:1: broken\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestB"}`,
		`{"Action":"output","Package":"p","Test":"TestC","Output":"    b_test.go:2: no disk\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestC"}`,
		`{"Action":"fail","Package":"p"}`,
	)
	want(t, c, 1, 1, 1)
	if out != "    b_test.go:1: broken\n    b_test.go:2: no disk\n" {
		t.Errorf("printed %q", out)
	}
}

func TestBuildFailureIsAFailure(t *testing.T) {
	c, out := feed(false,
		`{"ImportPath":"p [p.test]","Action":"build-output","Output":"./a.go:1: undefined: x\n"}`,
		`{"ImportPath":"p [p.test]","Action":"build-fail"}`,
		`{"Action":"start","Package":"p"}`,
		`{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}`,
		`{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
	)
	want(t, c, 0, 1, 0)
	if !strings.Contains(out, "undefined: x") || !strings.Contains(out, "[build failed]") {
		t.Errorf("printed %q", out)
	}
}

func TestTestThatDiesIsAFailureWithItsOutput(t *testing.T) {
	c, out := feed(false,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}`,
		`{"Action":"run","Package":"q","Test":"TestElsewhere"}`,
		`{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}`,
		`{"Action":"fail","Package":"p"}`,
	)
	want(t, c, 0, 1, 0)
	if !strings.Contains(out, "panic: no") || strings.Join(c.failures, "") != "p.TestA (did not end)" {
		t.Errorf("printed %q, failures %q", out, c.failures)
	}
}

func TestPackageThatFailsOutsideOfATest(t *testing.T) {
	c, _ := feed(false, `{"Action":"pass","Package":"p","Test":"TestA"}`, `{"Action":"fail","Package":"p"}`)
	want(t, c, 1, 1, 0)
}

func TestWhatIsNoEventIsPrinted(t *testing.T) {
	if _, out := feed(false, "go: cannot find main module", "{}"); out != "go: cannot find main module\n{}\n" {
		t.Errorf("printed %q", out)
	}
}
