package loom

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
)

// A node's clock holds the store's between its two lines, whatever its own monotonic
// time says, however long answers take, and after the store's clock has jumped.
// Claim H-23, race 27.
func TestTheStoresClockIsBetweenTheLines(t *testing.T) {
	const seeds = 400
	for seed := range uint64(seeds) {
		d := rand.New(rand.NewPCG(seed, 1))
		upTo := func(n time.Duration) time.Duration { return time.Duration(d.Int64N(int64(n) + 1)) }
		ppm := d.Float64()*1600 - 800 // how fast the store's clock runs against Mono
		mono, offset := upTo(time.Hour), time.Duration(1_790_000_000)*time.Second
		store := func() event.Time {
			return event.Time((offset + mono + time.Duration(float64(mono)*ppm/1e6)).Microseconds())
		}
		c := clock{asOf: mono, low: time.Second, high: time.Second} // far from the truth
		for i := range 60 {
			if i > 0 && d.IntN(12) == 0 { // the store's clock is set, by more than an answer takes
				offset += time.Duration(1-2*d.IntN(2)) * (10*time.Second + upTo(2*time.Hour))
			}
			sent := mono
			mono += upTo(50 * time.Millisecond)
			read := store()
			if d.IntN(8) == 0 {
				mono += upTo(3 * time.Second) // a paused process, a slow disk
			} else {
				mono += upTo(20 * time.Millisecond)
			}
			c.saw(read, sent, mono)
			for range 3 {
				earliest, latest := c.at(mono)
				if now := store(); earliest > now || latest < now {
					t.Fatalf("seed %d, answer %d: the store shows %d, the lines are %d and %d", seed, i, now, earliest, latest)
				}
				mono += upTo(5 * time.Second)
			}
		}
	}
	t.Logf("tally: seeds=%d", seeds)
}

// What is rounded away for each of very many answers must not add up.
func TestManyAnswersDoNotPushTheLine(t *testing.T) {
	const answers = 1_000_000
	mono, base := time.Duration(0), event.Time(1_790_000_000_000_000)
	c := clock{}
	c.saw(base, 0, 0)
	for range answers {
		sent := mono
		mono += 900 * time.Nanosecond
		// This node's clock runs 900 parts in a million faster than the store's, whose
		// answers are old when they come: they tell nothing new.
		c.saw(base.Add(mono-mono*9/10_000-time.Millisecond), sent-2*time.Millisecond, mono)
	}
	now := base.Add(mono - mono*9/10_000)
	if earliest, _ := c.at(mono); earliest > now {
		t.Errorf("after %d answers the lower line is %v ahead of the store's clock", answers, earliest.Sub(now))
	}
}

// A good answer stays good: a slow one after it takes nothing of what is known away.
func TestASlowAnswerDoesNotBlurTheClock(t *testing.T) {
	c := clock{}
	base := event.Time(1_790_000_000_000_000)
	c.saw(base, 0, time.Millisecond)
	c.saw(base.Add(time.Second), time.Second, 9*time.Second)
	earliest, latest := c.at(9 * time.Second)
	if width := latest.Sub(earliest); width > 25*time.Millisecond {
		t.Errorf("after an answer that took 8 s the lines are %v apart", width)
	}
}

// Before the store has spoken a node's clock is a guess, and its first answer is not cut
// down to it.
func TestAGuessIsNoKnowledge(t *testing.T) {
	base := event.Time(1_790_000_000_000_000)
	guess := time.Duration(base.Add(20*time.Millisecond)) * time.Microsecond // this machine is ahead
	c := clock{low: guess, high: guess}
	c.saw(base, 0, 50*time.Millisecond)
	if earliest, _ := c.at(50 * time.Millisecond); earliest > base {
		t.Errorf("the lower line is %v after what the store said", earliest.Sub(base))
	}
}
