package sim

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// racesEach is how many seeds of each race a volume plays beside its random stories.
const racesEach = 10

// wholeVolume is how many seeds reach every rare state, with the races.
const wholeVolume = 2000

// Volume runs so many seeds of random stories, each twice, and some of each race, on all
// the cores that there are, and counts what they did. In a volume of some size every rare
// state must be reached.
func (s *Story) Volume(t *testing.T, n int) {
	t.Helper()
	counts := &Counts{}
	s.each(t, counts, First(), n)
	for _, r := range Races() {
		r.Story(s.Open).each(t, counts, 1, racesEach)
	}
	t.Logf("%s", counts.Text())
	for _, name := range counts.Missed(n >= wholeVolume) {
		t.Errorf("never reached: %s", name)
	}
	t.Logf("tally: seeds=%d", counts.seeds+counts.races)
}

// each runs n seeds from the first, each on some core. A few failures are enough.
func (s *Story) each(t *testing.T, counts *Counts, first uint64, n int) {
	var next atomic.Int64
	var failed atomic.Int32
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		own := *s // a directed story measures itself
		wg.Go(func() {
			for failed.Load() < 5 {
				k := next.Add(1) - 1
				if k >= int64(n) {
					return
				}
				o, err := own.play(&Script{Seed: first + uint64(k)}, nil)
				if err == nil {
					counts.Add(o)
					err = o.Error()
				}
				if err != nil {
					failed.Add(1)
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// volume is how many seeds a campaign is asked for: LOOM_SIM_SEEDS, 0 if it is not set and
// the time decides.
func volume() int {
	n, _ := strconv.Atoi(os.Getenv("LOOM_SIM_SEEDS"))
	return n
}
