package coalesce_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/loomwork/loom/store/coalesce"
)

// bisect runs n parts, of which some are guilty, and checks that each part is dealt
// with once, from left to right. It returns the number of pieces that were tried.
func bisect(t *testing.T, n int, guilty map[int]bool) (tries int) {
	t.Helper()
	next := 0
	coalesce.Bisect(n, func(from, to int) bool {
		tries++
		if from != next || to <= from || to > n {
			t.Fatalf("%d parts, %v guilty: piece [%d, %d) where part %d is due", n, guilty, from, to, next)
		}
		for i := from; i < to; i++ {
			if guilty[i] {
				if to-from == 1 {
					next = to
				}
				return false
			}
		}
		next = to
		return true
	})
	if n > 1 && next != n {
		t.Fatalf("%d parts, %v guilty: done up to %d", n, guilty, next)
	}
	return tries
}

// claim H-06: one guilty part of n is found in 2·⌈log₂ n⌉ further pieces, wherever it is.
func TestBisectFindsOne(t *testing.T) {
	for n := 2; n <= 300; n++ {
		limit := 2 * bits.Len(uint(n-1))
		for at := range n {
			if tries := bisect(t, n, map[int]bool{at: true}); tries > limit {
				t.Fatalf("part %d of %d was found in %d pieces, more than %d", at, n, tries, limit)
			}
		}
	}
}

func TestBisectWithAllGuilty(t *testing.T) {
	for n := 2; n <= 600; n++ {
		all := map[int]bool{}
		for i := range n {
			all[i] = true
		}
		if tries := bisect(t, n, all); tries > n+bits.Len(uint(n-1)) {
			t.Fatalf("%d guilty parts took %d pieces", n, tries)
		}
	}
}

// Whoever is guilty, each part is dealt with, and the cost stays below that of looking
// at each piece of each size.
func TestBisectOfAny(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n := 2 + r.IntN(130)
		guilty := map[int]bool{}
		for range r.IntN(n + 1) {
			guilty[r.IntN(n)] = true
		}
		if len(guilty) == 0 {
			guilty[0] = true
		}
		if tries := bisect(t, n, guilty); tries > 2*n-2 {
			t.Fatalf("%d of %d guilty took %d pieces", len(guilty), n, tries)
		}
	}
}

// Nothing is asked about one part: it was tried already.
func TestBisectOfOne(t *testing.T) {
	for n := range 2 {
		coalesce.Bisect(n, func(int, int) bool { t.Fatal("tried"); return false })
	}
}
