package sim

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/store"
)

// TestSimExplore plays every order of every tale, up to its bounds:
// claims B-02, H-02, H-05, H-08, H-09 and H-27, races 1, 5, 6, 10 and 11, oracles O1 to O11, O13, O14 and
// O19. An enumeration that is cut off fails. LOOM_EXPLORE_BOUND raises the bounds, and
// LOOM_EXPLORE_ORDER plays the one order that a failure named, and tells all.
func TestSimExplore(t *testing.T) {
	least, _ := strconv.Atoi(os.Getenv("LOOM_EXPLORE_BOUND"))
	for _, tale := range Tales() {
		t.Run(tale.Name, func(t *testing.T) {
			tale.Bound = max(tale.Bound, least)
			if order := os.Getenv("LOOM_EXPLORE_ORDER"); order != "" {
				if err := (&Explorer{Open: inMemory}).Again(&tale, order, func(line string) { fmt.Println(line) }); err != nil {
					t.Fatal(err)
				}
				return
			}
			if least > 0 {
				tale.Fibers = max(tale.Fibers, 1)
			}
			explore(t, &tale, &Explorer{Open: inMemory})
			if tale.Fibers > 0 {
				explore(t, &tale, &Explorer{Open: inMemory, Fibers: true})
			}
		})
	}
}

// explore plays a tale to its end and counts its orders.
func explore(t *testing.T, tale *Tale, x *Explorer) {
	t.Helper()
	began := time.Now()
	did, err := x.Tell(tale)
	if err != nil {
		t.Fatalf("fibers %v: %v", x.Fibers, err)
	}
	t.Logf("fibers %v: %d orders, the longest of %d choices, %d steps each, %v", x.Fibers, did.Runs, did.Deepest, did.Steps/did.Runs, time.Since(began))
	t.Logf("tally: interleavings=%d", did.Runs)
}

// outcome is what a run came to, as clients and the store saw it: what was written
// in which order and what was refused, what starts were told, what was called.
func outcome(c *Cluster) string {
	var b strings.Builder
	for i := range c.History.Records {
		if r := &c.History.Records[i]; r.Did == DidCommit && r.Result.Outcome == store.Committed {
			fmt.Fprintf(&b, "%s %d.%d ", r.Node, r.Result.Tip.Head, r.Result.Tip.Fence)
		}
	}
	for _, s := range c.Book.Starts {
		fmt.Fprintf(&b, "| %s %v ", s.Node, s.Err)
	}
	for _, call := range c.Ledger.Calls {
		fmt.Fprintf(&b, "| %s %s ", call.Node, call.Op)
	}
	return b.String()
}

// TestNodesAreEnough: where fibers are scheduled and may be interrupted anywhere, a
// tale comes to nothing that it does not come to where nodes are, and may be
// interrupted at store calls alone.
func TestNodesAreEnough(t *testing.T) {
	for _, name := range []string{"two starters", "two nodes wake one timer"} {
		all := Tales()
		tale := all[slices.IndexFunc(all, func(t Tale) bool { return t.Name == name })]
		tale.Fibers = 2
		var seen [2]map[string]bool
		for i := range seen {
			seen[i] = map[string]bool{}
			explore(t, &tale, &Explorer{Open: inMemory, Fibers: i == 1, Seen: func(c *Cluster) { seen[i][outcome(c)] = true }})
		}
		for o := range seen[1] {
			if !seen[0][o] {
				t.Errorf("%s: only fibers come to\n%s", name, o)
			}
		}
		if len(seen[0]) < 2 || len(seen[1]) < 2 {
			t.Errorf("%s: %d and %d outcomes", name, len(seen[0]), len(seen[1]))
		}
		t.Logf("%s: %d outcomes of nodes, %d of fibers", name, len(seen[0]), len(seen[1]))
	}
}

// TestAnExplorationIsComplete counts the orders of a world whose number is known: two
// nodes of two calls each have as many as there are ways to merge them, with one
// interruption those in which one of the two calls in a row, and with none two.
func TestAnExplorationIsComplete(t *testing.T) {
	for bound, want := range map[int]int{0: 2, 1: 4, unbounded: 6} {
		tale := &Tale{Name: "two callers", Bound: bound, Play: func(c *Cluster) {
			c.Explore()
			for _, name := range []string{"A", "B"} {
				n := c.World.Node(name)
				link := n.Connect(c.Backend, c.History, noFaults, nil)
				n.Go("calls", func() {
					for range 2 {
						link.Store.Log.Tip(background, raced)
					}
				})
			}
			c.World.outside.Sleep(time.Millisecond)
		}}
		orders := map[string]int{}
		x := &Explorer{Open: inMemory, Seen: func(c *Cluster) {
			order := ""
			for _, r := range c.History.Records {
				order += r.Node
			}
			orders[order]++
		}}
		if _, err := x.Tell(tale); err != nil {
			t.Fatal(err)
		}
		if len(orders) != want {
			t.Errorf("bound %d: %d orders, want %d: %v", bound, len(orders), want, orders)
		}
		x.Limit = 1
		if _, err := x.Tell(tale); err == nil {
			t.Error("an exploration that was cut off says that it is complete")
		}
	}
}
