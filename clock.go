package loom

import (
	"time"

	"github.com/loomwork/loom/event"
)

// clock is what a node knows of the store's clock: that it lies between two lines, both
// relative to the node's monotonic time. An answer that holds the store's time narrows
// it: the store read its clock after the request was sent and before the answer came.
//
// What must not be early, a deadline that fires, goes by the lower line; what must not
// be short, a deadline that is set, by the upper one.
type clock struct {
	low, high time.Duration // store's time since 1970 less Mono, at asOf
	asOf      time.Duration // Mono
	heard     bool          // the store has spoken; before, the lines are a guess
}

// slack is one over how fast two clocks may drift apart: about a thousand parts in a
// million. Clocks that a daemon disciplines stay below 500.
const slack = 1024

// drift returns by how much two clocks may part within d, rounded up: what is rounded
// away adds up over a million answers.
func drift(d time.Duration) time.Duration { return (max(d, 0) + slack - 1) / slack }

// bounds returns the lines at mono: they part by what the clocks may have drifted.
func (c *clock) bounds(mono time.Duration) (low, high time.Duration) {
	d := drift(mono - c.asOf)
	return c.low - d, c.high + d
}

// at returns the earliest and the latest time that the store's clock can show at mono.
func (c *clock) at(mono time.Duration) (earliest, latest event.Time) {
	low, high := c.bounds(mono)
	return event.Time((mono + low).Microseconds()), event.Time(0).Add(mono + high)
}

// saw takes a store time from an answer to a request that was sent at one Mono and came
// back at another. If it contradicts what was known, the store's clock has jumped, and
// what was known is dropped.
func (c *clock) saw(t event.Time, sent, came time.Duration) {
	store := time.Duration(t) * time.Microsecond
	low := store - came
	high := store + time.Microsecond - sent + drift(came-sent) // t was cut to the microsecond
	knownLow, knownHigh := c.bounds(came)
	if c.heard && low <= knownHigh && knownLow <= high {
		low, high = max(low, knownLow), min(high, knownHigh)
	}
	c.low, c.high, c.asOf, c.heard = low, high, came, true
}
