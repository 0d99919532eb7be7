package sim

import (
	"math/bits"
	"time"

	"github.com/loomwork/loom/event"
)

// epoch is what a right wall clock shows at the world's beginning, since 1970:
// 2026-01-01 UTC. Far from 0, so that a deadline that was never set is no
// deadline that is due.
const epoch = 1767225600 * time.Second

const century = 36525 * 24 * time.Hour

// Clock is the world's time as somebody sees it.
type Clock struct {
	w      *World
	since  time.Duration // the world's time when shown was right
	shown  time.Duration
	ppm    int64 // how much too fast it goes
	frozen bool
}

// Now is what the clock shows.
func (c *Clock) Now() time.Duration {
	if c.frozen {
		return c.shown
	}
	gone := c.w.now - c.since
	return c.shown + gone + time.Duration(scale(int64(gone), c.ppm, 1_000_000))
}

// Jump moves the clock by d, which may be negative, at once.
func (c *Clock) Jump(d time.Duration) { c.settle(); c.shown += d }

// Drift makes the clock run ppm parts in a million too fast from now on; at most
// 500,000 either way.
func (c *Clock) Drift(ppm int64) {
	if ppm > 500_000 || ppm < -500_000 {
		panic("sim: drift out of range")
	}
	c.settle()
	c.ppm = ppm
}

// Freeze stops the clock, or lets it go on from where it stopped.
func (c *Clock) Freeze(on bool) { c.settle(); c.frozen = on }

// settle makes now the instant from which the clock is reckoned.
func (c *Clock) settle() { c.shown, c.since = c.Now(), c.w.now }

// when returns the first instant of the world at which the clock shows t or
// more; ok is false if it never will, or not within a century: a timer for then
// is one for never.
func (c *Clock) when(t time.Duration) (at time.Duration, ok bool) {
	if t <= c.Now() {
		return c.w.now, true
	}
	need := int64(t - c.shown)
	if c.frozen || need > int64(century) {
		return 0, false
	}
	at = c.since + time.Duration(scale(need, 1_000_000, 1_000_000+c.ppm))
	for c.at(at) < t { // the division rounds down
		at++
	}
	return at, true
}

// at is what the clock will show at an instant of the world.
func (c *Clock) at(world time.Duration) time.Duration {
	gone := world - c.since
	return c.shown + gone + time.Duration(scale(int64(gone), c.ppm, 1_000_000))
}

// scale returns x*num/den in 128 bits, cut towards zero; den is positive.
func scale(x, num, den int64) int64 {
	neg := (x < 0) != (num < 0)
	hi, lo := bits.Mul64(abs(x), abs(num))
	q, _ := bits.Div64(hi, lo, uint64(den))
	if neg {
		return -int64(q)
	}
	return int64(q)
}

func abs(x int64) uint64 {
	if x < 0 {
		return uint64(-x)
	}
	return uint64(x)
}

// StoreClock is the store's clock: it decides leases and due times.
func (w *World) StoreClock() *Clock { return w.store }

// StoreNow is what the store's clock shows, for a backend that takes its clock
// as a function.
func (w *World) StoreNow() event.Time { return event.Time(w.store.Now() / time.Microsecond) }

// StoreNowAnywhere is StoreNow for a backend that reads its clock on goroutines of
// its own. A change of the store's clock shows when the time goes on.
func (w *World) StoreNowAnywhere() event.Time { return event.Time(w.stored.Load()) }
