package storetest

import (
	"slices"
	"time"

	"github.com/loomwork/loom/store"
)

const (
	ruleRenew = "Renew makes or renews node's lease for ttl from now."
	ruleNodes = "Nodes returns all leases that are kept, alive or over, by node id."
)

// alive returns the nodes whose lease is alive, as Nodes lists them.
func (p *probe) alive() (ids []store.NodeID) {
	ls, err := p.s.Leaser.Nodes(p.ctx)
	if err != nil {
		p.fatalf("Nodes: %v", err)
	}
	if !slices.IsSortedFunc(ls, func(a, b store.Lease) int { return slices.Compare([]byte(a.Node), []byte(b.Node)) }) {
		p.failf("Nodes is not in the order of ids: %+v", ls)
	}
	for _, l := range ls {
		if l.Alive {
			ids = append(ids, l.Node)
		}
	}
	return ids
}

func leaserCases() []Case {
	return needs(owning,
		Case{Name: "lease/renew", Quote: ruleRenew, run: func(p *probe) {
			first, err := p.s.Leaser.Renew(p.ctx, "n1", time.Minute, []string{"b", "a"})
			if err != nil {
				p.fatalf("renewal: %v", err)
			}
			if !first.Alive || first.Node != "n1" || first.Expires != first.Now.Add(time.Minute) || first.Started != first.Now {
				p.failf("the first lease is %+v", first)
			}
			if got := slices.Sorted(slices.Values(first.Flows)); !slices.Equal(got, []string{"a", "b"}) {
				p.failf("its flows are %q", first.Flows)
			}
			p.advance(time.Second)
			next := p.lease("n1", time.Hour)
			if next.Started != first.Started || next.Now < first.Now.Add(time.Second) || next.Expires != next.Now.Add(time.Hour) {
				p.failf("the second lease is %+v, the first was %+v", next, first)
			}
			if short := p.lease("n1", time.Second); short.Expires != short.Now.Add(time.Second) {
				p.failf("a shorter renewal gives %+v", short)
			}
		}},
		Case{Name: "lease/nodes", Quote: ruleNodes, run: func(p *probe) {
			if got := p.alive(); len(got) != 0 {
				p.failf("an empty store lists %q", got)
			}
			for _, id := range []store.NodeID{"n2", "N3", "n1"} {
				p.lease(id, time.Minute)
			}
			if got := p.alive(); !slices.Equal(got, []store.NodeID{"N3", "n1", "n2"}) {
				p.failf("alive are %q", got)
			}
			if err := p.s.Leaser.Leave(p.ctx, "n1"); err != nil {
				p.failf("leave: %v", err)
			}
			if err := p.s.Leaser.Leave(p.ctx, "never came"); err != nil {
				p.failf("a node that never came leaves: %v", err)
			}
			if got := p.alive(); !slices.Equal(got, []store.NodeID{"N3", "n2"}) {
				p.failf("after n1 left alive are %q", got)
			}
		}},
		Case{Name: "lease/over", Quote: "Lease is a node's right to own executions.", run: func(p *probe) { // claim H-23
			p.lease("n1", time.Second)
			p.lease("n2", time.Hour)
			p.advance(1500 * time.Millisecond)
			if got := p.alive(); !slices.Equal(got, []store.NodeID{"n2"}) {
				p.failf("after n1's lease alive are %q", got)
			}
		}},
		Case{Name: "lease/again", Quote: "A node that let its lease run out may renew it: what it lost by then is decided by the head rows.", run: func(p *probe) { // race 28
			p.node("n2")
			p.lease("n1", time.Second)
			kept, lost := p.must(p.birthFor("kept", "n1")), p.must(p.birthFor("lost", "n1"))
			p.advance(2 * time.Second)
			p.must(p.take("lost", lost, "n2", store.Lapsed))
			if l := p.lease("n1", time.Minute); !l.Alive {
				p.failf("renewed after its end: %+v", l)
			}
			p.must(p.step("kept", kept))
			p.refused(p.step("lost", lost), store.RefusedFence)
			p.refused(p.take("kept", store.Result{Tip: p.tip("kept")}, "n2", store.Lapsed), store.RefusedOwner)
		}},
	)
}
