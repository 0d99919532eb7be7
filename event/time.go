package event

import (
	"math"
	"time"
)

// Time is an instant in microseconds since 1970-01-01 UTC. It stays below 2^53
// until the year 2255, so that any JSON reader keeps it exact.
type Time int64

// Never is after every instant.
const Never Time = math.MaxInt64

// At returns t as a Time, cut down to the microsecond; what is past the year 200000 is
// [Never].
func At(t time.Time) Time {
	if t.Year() > 200_000 { // a count of microseconds ends a little later
		return Never
	}
	return Time(t.UnixMicro())
}

// Time returns t in UTC.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Add returns t + d, rounded up to the microsecond, so that a deadline is never
// before the asked one. It saturates at [Never] and at the smallest Time.
func (t Time) Add(d time.Duration) Time {
	if t == Never {
		return Never
	}
	us := int64(d / time.Microsecond)
	if d > 0 && d%time.Microsecond != 0 {
		us++
	}
	switch {
	case us > 0 && int64(t) > math.MaxInt64-us:
		return Never
	case us < 0 && int64(t) < math.MinInt64-us:
		return math.MinInt64
	}
	return t + Time(us)
}

// Sub returns t - u, saturating.
func (t Time) Sub(u Time) time.Duration {
	us := int64(t) - int64(u)
	switch {
	case t > u && (us < 0 || us > math.MaxInt64/1000):
		return math.MaxInt64
	case t < u && (us > 0 || us < math.MinInt64/1000):
		return math.MinInt64
	}
	return time.Duration(us) * time.Microsecond
}
