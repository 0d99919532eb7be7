//go:build loomsabotage

package sim

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest"
)

// TestEveryDefectIsFound switches on each planted defect and looks for who finds it:
// random stories first, as many seeds as its share of LOOM_SABOTAGE_SECONDS allows
// (60 for all), then the races, the golden flows, the tales, the mail model, the crowd and the
// conformance kit. One that nobody finds is a hole in the tests.
func TestEveryDefectIsFound(t *testing.T) {
	defer sabotage.Set("")
	defects := sabotage.Defects()
	if by := otherwise(); by != "" {
		t.Fatalf("%s finds something although nothing is planted", by)
	}
	share := budget() / time.Duration(len(defects))
	var kills []int // seeds to the kill, of those that random stories found
	for _, d := range defects {
		t.Run(d.Name, func(t *testing.T) {
			sabotage.Set(d.Name)
			seeds, err := randomly(share)
			by := fmt.Sprintf("a story, seed %d", seeds)
			if err == nil {
				by = otherwise()
				if by == "" { // no clock may decide whether a defect is found
					if seeds, err = randomly(0); err != nil {
						by = fmt.Sprintf("a story, seed %d", seeds)
					}
				}
			} else {
				kills = append(kills, seeds)
			}
			if by == "" {
				t.Fatalf("nobody finds it: %s", d.What)
			}
			t.Logf("found by %s", by)
			t.Log("tally: defects=1")
		})
	}
	slices.Sort(kills)
	if n := len(kills); n > 0 {
		t.Logf("random stories found %d of %d, the median at seed %d", n, len(defects), kills[n/2])
	}
}

func budget() time.Duration {
	if n, err := strconv.Atoi(os.Getenv("LOOM_SABOTAGE_SECONDS")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return time.Minute
}

// randomly runs seeds for a while, or 600 of them for no while at all, and returns at
// which one a story failed.
func randomly(limit time.Duration) (seeds int, err error) {
	s := &Story{Open: inMemory, Once: true, Config: func(w *World) Config {
		c := Draw(w)
		w.opts.MaxSteps = 60_000 // a defect that spins is found soon
		return c
	}}
	for end := time.Now().Add(limit); err == nil && (time.Now().Before(end) || limit == 0 && seeds < 600); {
		seeds++
		_, err = s.Seed(uint64(seeds))
	}
	return seeds, err
}

// otherwise asks everybody else, the quick ones first; "" if nobody finds anything.
func otherwise() string {
	for _, r := range Races() {
		s := r.Story(inMemory)
		s.Once = true
		for seed := range uint64(20) {
			if _, err := s.Seed(seed + 1); err != nil {
				id, _, _ := strings.Cut(r.Name, ":")
				return id
			}
		}
	}
	if by := explored(); by != "" {
		return by
	}
	for seed := range uint64(20) {
		if _, err := runCrowd(seed); err != nil {
			return "the crowd"
		}
	}
	if v := (variant{}).explore(1); v.stuck+v.asleep+v.over+v.twice+v.lost > 0 {
		return "the mail model"
	}
	if kit() != nil {
		return "the kit"
	}
	for _, g := range Goldens() {
		for _, sort := range Sorts() {
			if _, _, err := g.Sweep(inMemory, sort, 1, 3, time.Now().Add(time.Minute)); err != nil {
				return "a golden flow"
			}
		}
	}
	return ""
}

func kit() error {
	return storetest.Check(context.Background(), func(context.Context) (storetest.Bench, error) {
		var now atomic.Int64
		now.Store(1_700_000_000_000_000)
		db := memstore.New(&memstore.Options{Now: func() event.Time { return event.Time(now.Load()) }})
		return storetest.Bench{Store: store.Of(db), Advance: func(d time.Duration) { now.Add(int64(d / time.Microsecond)) }}, nil
	}, storetest.Claim{})
}
