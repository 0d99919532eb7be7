package event

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// TestAddRoundsUp: no deadline is before the asked one.
func TestAddRoundsUp(t *testing.T) {
	const lowest = Time(math.MinInt64)
	for _, tc := range []struct {
		at   Time
		d    time.Duration
		want Time
	}{
		{10, 0, 10}, {10, 1, 11}, {10, 999, 11}, {10, 1000, 11}, {10, 1001, 12}, {10, time.Second, 1_000_010},
		{10, -1, 10}, {10, -1000, 9}, {10, -1001, 9}, {0, 1, 1}, {-5, 1, -4},
		{Never, 0, Never}, {Never, -time.Hour, Never}, {Never, math.MaxInt64, Never},
		{Never - 1, 1, Never}, {Never - 1, 1001, Never}, {Never - 2, 1, Never - 1}, {0, math.MaxInt64, 9_223_372_036_854_776},
		{Never - 5, math.MaxInt64, Never},
		{lowest, -time.Microsecond, lowest}, {lowest + 1, math.MinInt64, lowest}, {lowest, 1, lowest + 1},
	} {
		if got := tc.at.Add(tc.d); got != tc.want {
			t.Errorf("%d.Add(%d) = %d, want %d", tc.at, tc.d, got, tc.want)
		}
	}
}

// TestSubSaturates at both ends.
func TestSubSaturates(t *testing.T) {
	for _, tc := range []struct {
		t, u Time
		want time.Duration
	}{
		{5, 3, 2 * time.Microsecond}, {3, 5, -2 * time.Microsecond}, {7, 7, 0}, {Never, 0, math.MaxInt64},
		{0, Never, math.MinInt64}, {Never, -1, math.MaxInt64}, {math.MinInt64, 1, math.MinInt64}, {1, math.MinInt64, math.MaxInt64},
		{math.MinInt64, Never, math.MinInt64}, {math.MaxInt64 / 1000, 0, math.MaxInt64 / 1000 * 1000}, {math.MaxInt64/1000 + 1, 0, math.MaxInt64},
	} {
		if got := tc.t.Sub(tc.u); got != tc.want {
			t.Errorf("%d.Sub(%d) = %d, want %d", tc.t, tc.u, got, tc.want)
		}
	}
}

// TestTimeArithmeticAgainstBigIntegers holds Add and Sub against arithmetic that
// cannot overflow.
func TestTimeArithmeticAgainstBigIntegers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	number := func() int64 {
		n := int64(rng.Uint64())
		return n >> rng.IntN(64) // all magnitudes
	}
	clamp := func(b *big.Int) int64 {
		switch {
		case b.IsInt64():
			return b.Int64()
		case b.Sign() > 0:
			return math.MaxInt64
		}
		return math.MinInt64
	}
	for range 50_000 {
		at, u, d := Time(number()), Time(number()), time.Duration(number())
		us := new(big.Int).Quo(big.NewInt(int64(d)), big.NewInt(1000))
		if d > 0 && d%1000 != 0 {
			us.Add(us, big.NewInt(1))
		}
		if want := Time(clamp(us.Add(us, big.NewInt(int64(at))))); at != Never && at.Add(d) != want {
			t.Fatalf("%d.Add(%d) = %d, want %d", at, d, at.Add(d), want)
		}
		diff := new(big.Int).Sub(big.NewInt(int64(at)), big.NewInt(int64(u)))
		if want := time.Duration(clamp(diff.Mul(diff, big.NewInt(1000)))); at.Sub(u) != want {
			t.Fatalf("%d.Sub(%d) = %d, want %d", at, u, at.Sub(u), want)
		}
	}
}

// TestAtCutsDown and comes back in UTC.
func TestAtCutsDown(t *testing.T) {
	in := time.Date(2026, 11, 30, 12, 0, 0, 123_456_999, time.FixedZone("x", 3600))
	at := At(in)
	if want := time.Date(2026, 11, 30, 11, 0, 0, 123_456_000, time.UTC); !at.Time().Equal(want) || at.Time().Location() != time.UTC {
		t.Errorf("At gives %v, want %v", at.Time(), want)
	}
	if got := At(time.Unix(0, -1)); got != -1 {
		t.Errorf("one nanosecond before 1970 is %d, want -1: cut down, not towards zero", got)
	}
	if y := Time(exact).Time().Year(); y != 2255 {
		t.Errorf("2^53 µs is in %d, want 2255", y)
	}
}
