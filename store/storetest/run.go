package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/store"
)

// Claim says what a store means to meet.
type Claim struct {
	// SPI is a level, "2.2.0" or "2.3.0"; "" for [store.SPI]. Cases of a later
	// level are skipped. Anything else is an error.
	SPI string
}

func (c Claim) level() (store.Level, error) {
	if c.SPI == "" {
		c.SPI = store.SPI
	}
	return store.ParseLevel(c.SPI)
}

// Bench is an empty store, open, and what the kit may do to it.
type Bench struct {
	Store store.Store
	// Advance moves the store's clock on by d. With nil the store is on real time
	// and the kit waits, half a minute in all.
	Advance func(d time.Duration)
	// Reopen opens the same store once more, beside this bench or after its Close,
	// as another process would. With nil the cases that need it are skipped.
	Reopen func(ctx context.Context) (Bench, error)
	// Close closes the store; nil for nothing to do. The kit calls it once.
	Close func() error
}

// Opener makes a bench with an empty store. It is called once a case.
type Opener func(ctx context.Context) (Bench, error)

// Verdict is what became of one case.
type Verdict struct {
	Case Case
	// Skipped says why the case was not tried, "" if it was.
	Skipped string
	// Err is a [*CaseError], nil if the store kept the rule.
	Err error
}

// CaseError is a rule that the store did not keep.
type CaseError struct {
	Case  string   // its name
	Quote string   // the rule
	Found []string // what was seen instead, at least one
}

func (e *CaseError) Error() string {
	return fmt.Sprintf("storetest: %s: %s\n\trule: %s", e.Case, strings.Join(e.Found, "\n\tand: "), e.Quote)
}

// Run runs every case as a subtest of t.
func Run(t *testing.T, open Opener, claim Claim) {
	t.Helper()
	level, err := claim.level()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			v := examine(t.Context(), c, open, level)
			if v.Err != nil {
				t.Fatal(v.Err)
			}
			if v.Skipped != "" {
				t.Skip(v.Skipped)
			}
		})
	}
}

// Check runs every case and returns all the [*CaseError]s joined, nil if there
// are none, or the error of a claim that is malformed or unknown.
func Check(ctx context.Context, open Opener, claim Claim) error {
	vs, err := Examine(ctx, open, claim)
	if err != nil {
		return err
	}
	var errs []error
	for _, v := range vs {
		errs = append(errs, v.Err)
	}
	return errors.Join(errs...)
}

// Examine runs every case and returns the verdicts, in the order of [Cases]. The
// error is a [*store.LevelError], and nothing else.
func Examine(ctx context.Context, open Opener, claim Claim) ([]Verdict, error) {
	level, err := claim.level()
	if err != nil {
		return nil, err
	}
	var vs []Verdict
	for _, c := range Cases() {
		vs = append(vs, examine(ctx, c, open, level))
	}
	return vs, nil
}

// patience is how long one case may take before it counts as hung.
const patience = 2 * time.Minute

func examine(ctx context.Context, c Case, open Opener, claim store.Level) Verdict {
	if !claim.AtLeast(c.Level) {
		return Verdict{Case: c, Skipped: fmt.Sprintf("a rule of SPI %s; the store claims %s", c.Level, claim)}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &probe{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.try(c, open)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		// The case has ctx too: let it come to its own conclusion first.
		select {
		case <-done:
		case <-time.After(patience / 4):
			return Verdict{Case: c, Err: &CaseError{c.Name, c.Quote, []string{"the store hung"}}}
		}
	}
	if len(p.found) > 0 {
		return Verdict{Case: c, Err: &CaseError{c.Name, c.Quote, p.found}}
	}
	return Verdict{Case: c, Skipped: p.skipped}
}

// try opens a bench, runs the case on it, walks the store and closes it.
func (p *probe) try(c Case, open Opener) {
	defer func() {
		if r := recover(); r != nil {
			p.failf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	bench, err := open(p.ctx)
	if err != nil {
		p.failf("open: %v", err)
		return
	}
	defer func() { p.close() }()
	p.use(bench)
	if err := bench.Store.Require(append([]store.Part{store.PartLog}, c.Parts...)...); err != nil {
		p.skipped = err.Error()
		return
	}
	if c.reopen && bench.Reopen == nil {
		p.skipped = "the bench cannot open its store twice"
		return
	}
	c.run(p)
	p.walk()
}

// close closes the bench, once.
func (p *probe) close() {
	if p.closed || p.bench.Close == nil {
		return
	}
	p.closed = true
	if err := p.bench.Close(); err != nil {
		p.failf("close: %v", err)
	}
}

// failf notes a failure and goes on.
func (p *probe) failf(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// fatalf notes a failure and ends the case. Only the case's own goroutine may
// call it.
func (p *probe) fatalf(format string, args ...any) {
	p.failf(format, args...)
	runtime.Goexit()
}
