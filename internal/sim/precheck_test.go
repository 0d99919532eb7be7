//go:build loomsabotage

package sim

import (
	"testing"

	"github.com/loomwork/loom/internal/sabotage"
)

// claim B-07: with a look alone, and no start that the store takes once, two services pay
// for one occurrence twice under some of the seeds; with it under none.
func TestEveryDefectOfAStartByItsLook(t *testing.T) {
	defer sabotage.Set("")
	for _, name := range []string{"", "precheck-only"} {
		sabotage.Set(name)
		most := 0
		for seed := range uint64(20) {
			r := Race{Play: func(c *Cluster) {
				ms := c.open(2)
				all, _ := c.occurrences(1)
				p := flowOf(effect("pay", 0))
				a, b := c.Occur(ms[0], all[0], p), c.Occur(ms[1], all[0], p)
				c.await("both answers", func() bool { return a.Answered && b.Answered })
				c.World.outside.Sleep(4 * c.Config.Lease)
			}}
			s := r.Story(inMemory)
			s.Once = true
			c, err := s.Seed(seed + 1)
			if most = max(most, len(c.Ledger.Calls)); err != nil && name == "" {
				t.Error(err)
			}
		}
		if want := map[string]int{"": 1, "precheck-only": 2}[name]; most != want {
			t.Errorf("%q: %d calls at most, want %d", name, most, want)
		}
	}
}
