//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sim"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/storetest"
)

// small are pools that leave a reader who waits for another reader nothing to take.
var small = []int{1, 2}

func withPool(n int) Option { return func(o *options) { o.pool = n } }

// case 67: with one connection to read by, and with two, beside the one that writes, the
// whole kit passes.
func TestConformanceWithASmallPool(t *testing.T) {
	for _, n := range small {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			storetest.Run(t, opener(t, withPool(n), MayLoseLastCommits()), storetest.Claim{SPI: "2.3.0"})
		})
	}
}

// case 67: and so do runtimes: random stories and the races, over files of which each node
// reads by one connection or two.
func TestSimSmallPools(t *testing.T) {
	for _, n := range small {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			(&sim.Story{Open: onFile(t, withPool(n)), Once: true}).Seeds(t, 4)
			for i, r := range sim.Races() {
				if i%len(small) == n-1 { // each race with one of the sizes
					t.Run(r.Name, func(t *testing.T) { r.Story(onFile(t, withPool(n))).Seeds(t, 1) })
				}
			}
		})
	}
}

// case 67: who reads while it reads, and commits while it reads, waits for no connection
// that it holds itself.
func TestReadsInsideReadsOfASmallPool(t *testing.T) {
	for _, n := range small {
		db := open(t, withPool(n), func(o *options) { o.piece = 2 })
		ctx := context.Background()
		tip := commit(t, db, startOf("outer")).Tip
		for range 6 {
			tip = commit(t, db, next("outer", tip, "")).Tip
		}
		seen := 0
		for e, err := range db.Read(ctx, "outer", store.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			inner := event.Seq(0)
			for in, err := range db.Read(ctx, "outer", store.Range{}) {
				if err != nil || in.Sequence != inner {
					t.Fatal(in.Sequence, err)
				}
				inner++
				if _, ok, err := db.Get(ctx, "outer"); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			if now, err := db.Tip(ctx, "outer"); err != nil || now.Head < e.Sequence {
				t.Fatal(now, err)
			}
			tip = commit(t, db, next("outer", tip, "")).Tip
			seen++
		}
		if seen != 7 {
			t.Errorf("a pool of %d: %d events", n, seen)
		}
	}
}
