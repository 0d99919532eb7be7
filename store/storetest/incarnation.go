package storetest

import (
	"errors"

	"github.com/loomwork/loom/store"
)

const (
	ruleIncarnation = "Incarnation: a start MUST give the execution an anchor that no earlier execution of this store had, whatever " +
		"its id, even if the events are byte-identical to a deleted one's (SPI 2.3.0)."
	ruleAnchor = "Anchor names one incarnation of an execution id. It is opaque: compared for equality, carried, never parsed by a caller."
)

func isRefused(err error) bool { return errors.Is(err, store.ErrRefused) }

// incarnationCases are what SPI 2.3.0 asks beyond 2.2.0, and no other case is.
// claim
func incarnationCases() []Case {
	return at23(needs(append(mailing, store.PartDeleter),
		Case{Name: "incarnation/byte-identical-recreation", Quote: ruleIncarnation, run: func(p *probe) { // claim, case 7
			start := p.birth("x")
			old := p.must(start)
			late := p.step("x", old)
			p.remove("x", p.deleting("x", old).Tip)
			again := start
			again.Nonce = p.nonce()
			res := p.must(again)
			if res.Tip.Head != old.Tip.Head || res.Tip.Fence != old.Tip.Fence {
				p.failf("the re-created execution has head %d and token %d, the deleted one had %d and %d",
					res.Tip.Head, res.Tip.Fence, old.Tip.Head, old.Tip.Fence)
			}
			if res.Tip.Anchor == old.Tip.Anchor {
				p.failf("the re-created execution has the anchor of the deleted one, %q", old.Tip.Anchor)
			}
			late.Expect.Mark = store.Nonce{} // by the anchor alone
			p.refused(late, store.RefusedAnchor)
			if log := p.log("x", store.Range{}); len(log) != 1 || !log[0].Equal(start.Events[0]) {
				p.failf("the log of the re-created execution has %d events", len(log))
			}
		}},
		Case{Name: "incarnation/observations-agree", Quote: ruleAnchor, run: func(p *probe) { // claim A-33
			res := p.must(p.birth("x"))
			for range 5 {
				one, two := p.tip("x"), p.tip("x")
				if one != two || one.Anchor != p.head("x").Tip.Anchor {
					p.failf("two observations of one tip: %+v and %+v", one, two)
				}
				res = p.must(p.step("x", store.Result{Tip: one})) // each is honoured
			}
			if res.Tip.Head != 5 {
				p.failf("after five commits the head is %d", res.Tip.Head)
			}
		}},
		Case{Name: "incarnation/stable", Quote: ruleAnchor, run: func(p *probe) { // claim A-33
			p.node("n1")
			first := p.must(p.birth("x"))
			res := p.must(p.take("x", first, "n1", store.Unowned))
			res = p.must(p.step("x", res))
			p.post("x", "m1")
			end := p.end("x", res)
			end.Seen = 1
			res = p.must(p.step("x", p.must(end)))
			p.must(p.birth("y"))
			if now := p.tip("x").Anchor; now != first.Tip.Anchor || res.Tip.Anchor != first.Tip.Anchor {
				p.failf("the anchor went from %q to %q", first.Tip.Anchor, now)
			}
		}},
	)...)
}
