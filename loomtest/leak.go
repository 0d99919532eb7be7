package loomtest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// label marks the goroutines of one run, and all that they begin.
type label struct{ value string }

const labelKey = "loomtest"

var labelled atomic.Int64

func newLabel() label { return label{strconv.FormatInt(labelled.Add(1), 10)} }

func (l label) labels() pprof.LabelSet { return pprof.Labels(labelKey, l.value) }

// check returns an error with the stacks of the run's goroutines that are left. They get a
// second of real time to end: what ends them may have happened just now.
func (l label) check() error {
	for began := time.Now(); ; runtime.Gosched() {
		left := l.left()
		if left == "" {
			return nil
		}
		if time.Since(began) > time.Second {
			return errors.New("goroutines are left over that the test, a flow or an effect began and did not wait for:\n" + left)
		}
	}
}

// left returns the stacks of the run's goroutines, as a profile has them.
func (l label) left() string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return ""
	}
	mark := fmt.Sprintf("%q:%q", labelKey, l.value)
	var out []string
	for _, g := range strings.Split(all.String(), "\n\n") {
		if strings.Contains(g, mark) && !pooled(g) {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}

// pooled reports whether a goroutine is one that package net/http keeps for a connection
// that may be used again.
func pooled(stack string) bool {
	return strings.Contains(stack, "net/http.(*persistConn).")
}

// exiting reports whether a deferred function is called because its goroutine ends, and
// not because of a panic.
func exiting() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		switch f.Function {
		case "runtime.Goexit":
			return true
		case "runtime.gopanic":
			return false
		}
		if !more {
			return false
		}
	}
}
