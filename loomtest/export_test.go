package loomtest

import (
	"testing"
	"time"
)

// RunFor is Run with other limits.
func RunFor(t testing.TB, patience, horizon time.Duration, fn func(e *Env)) {
	run(t, 1, fn, &limits{patience: patience, horizon: horizon})
}
