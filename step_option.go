package loom

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// StepOption changes how [Do] calls its effect: a [Retry], [Timeout], [ReadOnly],
// [Args].
type StepOption interface{ step(*step) }

type stepOption func(*step)

func (o stepOption) step(s *step) { o(s) }

// Retry repeats a failed attempt. Each failure is recorded before the next
// attempt is made, so that attempts and waits survive a crash; an attempt that a
// crash cut off is made again and not counted.
type Retry struct {
	// Attempts is the most attempts; 0 and 1 are one.
	Attempts int
	// Initial is the wait after the first failure, 0 for none.
	Initial time.Duration
	// Factor multiplies the wait after each further failure; 2 for anything below 1.
	Factor float64
	// Max bounds the wait, 0 for an hour.
	Max time.Duration
}

func (r Retry) step(s *step) { s.retry = r }

// wait returns how long to wait after the attempt-th failure, at most half of it
// by chance: the jitter is a hash of the operation, the same in every replay.
func (r Retry) wait(attempt int, id event.ExecutionID, seed, path string) time.Duration {
	if r.Initial <= 0 {
		return 0
	}
	factor, limit := r.Factor, r.Max
	if !(factor >= 1) { // nor NaN
		factor = 2
	}
	if limit <= 0 {
		limit = time.Hour
	}
	d := float64(r.Initial) * math.Pow(factor, float64(attempt-1))
	full := min(d, float64(limit))
	h := kernel.Entropy(id, seed, path+"@"+string(rune('0'+attempt%10)))
	share := float64(binary.BigEndian.Uint32(h[attempt%24:])) / (1 << 32)
	return time.Duration(full/2 + full/2*share)
}

// Timeout bounds one attempt: the effect's context ends after d, and an error that
// the effect returns then counts as [ErrTimeout]. An effect that does not heed its
// context is waited for.
func Timeout(d time.Duration) StepOption { return stepOption(func(s *step) { s.timeout = d }) }

// ReadOnly says that the effect changes nothing: no intent is recorded and nothing
// is waited for before it is called. It may be called any number of times, also by
// a node that has lost the execution. Its result is durable before what used it.
func ReadOnly() StepOption { return stepOption(func(s *step) { s.readOnly = true }) }

// Args records what the effect is called with, for people and for drift checks: in
// a replay the same bytes must be given again, or the execution has diverged. Not
// for a [ReadOnly] step, which has no intent to record them with.
func Args(v any) StepOption {
	return stepOption(func(s *step) { s.args, s.hasArgs = v, true })
}

// Permanent marks an error as final: the step's [Retry] ends with it.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err: err}
}

type permanent struct {
	err  error
	paid bool // the effect did what it was to do; only its result is no good
}

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

func isPermanent(err error) (final, paid bool) {
	var p *permanent
	if !errors.As(err, &p) {
		return false, false
	}
	return true, p.paid
}
