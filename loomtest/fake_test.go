package loomtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/loomwork/loom/loomtest"
)

// fake is a test that may fail.
type fake struct {
	testing.TB
	name    string
	mu      sync.Mutex
	lines   []string
	failed  bool
	skipped bool
}

func (f *fake) Helper()      {}
func (f *fake) Name() string { return f.name }

func (f *fake) note(failed bool, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = f.failed || failed
	f.lines = append(f.lines, text)
}

func (f *fake) Logf(format string, args ...any)   { f.note(false, fmt.Sprintf(format, args...)) }
func (f *fake) Log(args ...any)                   { f.note(false, fmt.Sprint(args...)) }
func (f *fake) Errorf(format string, args ...any) { f.note(true, fmt.Sprintf(format, args...)) }
func (f *fake) Error(args ...any)                 { f.note(true, fmt.Sprint(args...)) }
func (f *fake) Fatalf(format string, args ...any) { f.Errorf(format, args...); f.FailNow() }
func (f *fake) Fatal(args ...any)                 { f.Error(args...); f.FailNow() }
func (f *fake) FailNow()                          { f.note(true, ""); runtime.Goexit() }
func (f *fake) SkipNow()                          { f.skipped = true; runtime.Goexit() }
func (f *fake) Skipped() bool                     { return f.skipped }

func (f *fake) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *fake) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.lines, "\n")
}

// failing runs what must fail its test, and returns what it said.
func failing(t *testing.T, fn func(t testing.TB)) string {
	t.Helper()
	f := watched(t, fn)
	if !f.Failed() {
		t.Errorf("it does not fail: %s", f.text())
	}
	return f.text()
}

// passing runs what must not fail its test, and returns what it said.
func passing(t *testing.T, fn func(t testing.TB)) string {
	t.Helper()
	f := watched(t, fn)
	if f.Failed() {
		t.Errorf("it fails: %s", f.text())
	}
	return f.text()
}

func watched(t *testing.T, fn func(t testing.TB)) *fake {
	f := &fake{TB: t, name: "TestIt/a (b)"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(f)
	}()
	<-done
	return f
}

// says fails the test unless a text holds all of the words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in: %s", w, text)
		}
	}
}

// runs runs a function in an Env that must fail its test, and returns what it said.
func runs(t *testing.T, fn func(t testing.TB, e *loomtest.Env)) string {
	t.Helper()
	return failing(t, func(t testing.TB) { loomtest.Run(t, func(e *loomtest.Env) { fn(t, e) }) })
}
