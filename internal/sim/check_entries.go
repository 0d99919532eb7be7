package sim

import "github.com/loomwork/loom/store"

// checkEntries is oracle O4, a body is entered at most 1 + claims times and never
// by a start that was refused, and oracle O10, at most one driver between two
// changes of the owner: both say that each token enters the body of each generation
// once at most.
func checkEntries(j Judgement, lives []*life, vs *violations) {
	type place struct {
		l          *life
		generation int
		fence      store.Fence
	}
	type bodies struct {
		l          *life
		generation int
	}
	seen := map[place]string{}
	count := map[bodies]int{}
	for _, e := range j.Ledger.Entries {
		minted := j.Minted != nil && j.Minted(e.Execution)
		l := livesAt(lives, e.Execution, e.Pos)
		if l == nil {
			if !minted {
				vs.add("O4", e.Execution, "its body was entered on %s and it never existed", e.Node)
			}
			continue
		}
		count[bodies{l, e.Generation}]++
		g, ok := l.granted(e.Node, e.Pos)
		if !ok && minted && len(l.claims) > 0 && l.claims[0].node == e.Node {
			g, ok = l.claims[0], true // its start was under way
		}
		if !ok {
			vs.add("O4", e.Execution, "its body was entered on %s, which never owned it until then", e.Node)
			continue
		}
		if by, twice := seen[place{l, e.Generation, g.fence}]; twice {
			vs.add("O10", e.Execution, "its body was entered on %s and on %s under token %d", by, e.Node, g.fence)
		}
		seen[place{l, e.Generation, g.fence}] = e.Node
	}
	for _, l := range lives {
		for g := 0; g == 0 || count[bodies{l, g}] > 0; g++ {
			if n := count[bodies{l, g}]; n > len(l.claims) {
				vs.add("O4", l.id, "its body of generation %d was entered %d times, with %d claims (the start's included)", g, n, len(l.claims))
			}
		}
	}
}
