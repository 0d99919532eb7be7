//go:build loomsabotage

package sim

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
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
	share := budget() * 2 / 3 / time.Duration(len(defects)) // the rest is for the single policies
	var rows []kill
	for _, d := range defects {
		t.Run(d.Name, func(t *testing.T) {
			sabotage.Set(d.Name)
			k := kill{defect: d.Name}
			seeds, err := randomly(Drawn, share, 0)
			if err == nil {
				k.by = otherwise()
				if k.by == "" { // no clock may decide whether a defect is found
					seeds, err = randomly(Drawn, 0, 600)
				}
			}
			if err != nil {
				k.by, k.seeds[0] = fmt.Sprintf("a story, seed %d", seeds), seeds
				for i, p := range []Policy{Uniform, Priorities} {
					k.limit = min(2*seeds+20, 400)
					if n, err := randomly(p, 0, k.limit); err != nil {
						k.seeds[1+i] = n
					}
				}
			}
			if k.by == "" {
				t.Fatalf("nobody finds it: %s", d.What)
			}
			rows = append(rows, k)
			t.Log("tally: defects=1")
		})
	}
	report(t, rows)
}

// kill says who found a defect, and how many seeds that took with all policies by turns,
// with the uniform one and with priorities; 0 for not found, in limit seeds.
type kill struct {
	defect, by string
	seeds      [3]int
	limit      int
}

// report prints the table of kills and the medians over the defects that random stories
// found. One that a policy did not find counts as found after all others.
func report(t *testing.T, rows []kill) {
	t.Helper()
	var b strings.Builder
	var found [3][]int
	show := func(k *kill, i int) string {
		if n := k.seeds[i]; n > 0 {
			return fmt.Sprint(n)
		}
		return fmt.Sprint("> ", k.limit)
	}
	fmt.Fprintf(&b, "%-24s %-40s %8s %8s %10s\n", "defect", "found by", "mixed", "uniform", "priorities")
	for i := range rows {
		k := &rows[i]
		if k.seeds[0] == 0 {
			fmt.Fprintf(&b, "%-24s %-40s\n", k.defect, k.by)
			continue
		}
		fmt.Fprintf(&b, "%-24s %-40s %8s %8s %10s\n", k.defect, k.by, show(k, 0), show(k, 1), show(k, 2))
		for p, n := range k.seeds {
			if n == 0 {
				n = math.MaxInt
			}
			found[p] = append(found[p], n)
		}
	}
	t.Logf("\n%s", &b)
	n := len(found[0])
	if n == 0 {
		t.Error("random stories found nothing")
		return
	}
	t.Logf("random stories found %d of %d", n, len(rows))
	for p, name := range []string{"mixed", "uniform", "priorities"} {
		slices.Sort(found[p])
		missed := len(found[p]) - len(found[p][:sort.SearchInts(found[p], math.MaxInt)])
		if m := found[p][n/2]; m < math.MaxInt {
			t.Logf("tally: median_seeds_to_kill_%s=%d", name, m)
		}
		t.Logf("%s: %d of these %d not found in their seeds", name, missed, n)
	}
}

func budget() time.Duration {
	if n, err := strconv.Atoi(os.Getenv("LOOM_SABOTAGE_SECONDS")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return time.Minute
}

// randomly runs seeds for a while, or so many of them if no time is given, each with a
// plain story, with a rich one and with a family, and returns at which one a story failed.
func randomly(p Policy, limit time.Duration, most int) (seeds int, err error) {
	s := &Story{Open: inMemory, Once: true, Policy: p, MaxSteps: 60_000} // a defect that spins is found soon
	for end := time.Now().Add(limit); err == nil && (time.Now().Before(end) || limit == 0 && seeds < most); {
		seeds++
		for _, s.Config = range []func(*World) Config{Draw, DrawRich, DrawFamily} {
			if _, err = s.Seed(uint64(seeds)); err != nil {
				break
			}
		}
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
