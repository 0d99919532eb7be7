package memstore

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loomwork/loom/event"
)

// A tree answers like a sorted slice, whatever was inserted and removed.
func TestTreeAgainstSortedSlice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tr, model := &tree{}, []*row(nil)
	for i := range 5000 {
		if rng.IntN(3) > 0 || len(model) == 0 {
			r := &row{key: int64(i)}
			tr.insert(r, event.Time(rng.IntN(200)))
			model = append(model, r)
			slices.SortFunc(model, func(a, b *row) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
		} else {
			j := rng.IntN(len(model))
			tr.remove(model[j])
			model = slices.Delete(model, j, j+1)
		}
		until, limit := event.Time(rng.IntN(220)), rng.IntN(50)
		var want []*row
		next := event.Never
		for _, r := range model {
			if r.at <= until && len(want) < limit {
				want = append(want, r)
			}
			if r.at > until {
				next = min(next, r.at)
			}
		}
		if got := tr.first(nil, until, limit); !slices.Equal(got, want) {
			t.Fatalf("step %d: first(%d, %d) gave %d rows, want %d", i, until, limit, len(got), len(want))
		}
		if got := tr.after(until); got != next {
			t.Fatalf("step %d: after(%d) = %d, want %d", i, until, got, next)
		}
	}
}
