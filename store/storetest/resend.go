package storetest

import "github.com/loomwork/loom/store"

const ruleResend = "Resending: a request with the nonce of a committed one MUST be answered Committed and Again as long as no later " +
	"request moved the row."

func resendCases() []Case {
	return needs(owning,
		Case{Name: "resend/step", Quote: ruleResend, run: func(p *probe) { // claim H-08, race 26, case 12
			p.node("n1")
			req := p.step("r", p.must(p.birthFor("r", "n1")))
			done := p.must(req)
			for range 3 {
				if res := p.again(req); res.Tip != done.Tip {
					p.failf("the answer to a resending has the tip %+v, the first had %+v", res.Tip, done.Tip)
				}
			}
			p.must(p.step("r", done))
			p.refused(req, store.RefusedHead) // moved since
		}},
		Case{Name: "resend/same-call", Quote: ruleResend, run: func(p *probe) {
			req := p.birth("r")
			res := p.commitAll(req, req)
			if res[0].Outcome != store.Committed || res[0].Again || res[1].Outcome != store.Committed || !res[1].Again {
				p.failf("one request twice in one call: %s; %s", say(res[0]), say(res[1]))
			}
		}},
		Case{Name: "resend/start-by-mark", Quote: ruleResend, run: func(p *probe) { // race 1
			p.node("n1")
			req := p.birthFor("r", "n1")
			done := p.must(req)
			other := p.birthFor("r", "n1") // equal bytes, another nonce
			p.refused(other, store.RefusedHead)
			if res := p.again(req); res.Tip != done.Tip || res.Owner != "n1" {
				p.failf("the resent start shows %+v, owner %q", res.Tip, res.Owner)
			}
		}},
		Case{Name: "resend/start-by-birth", Quote: step2, run: func(p *probe) { // race 2
			p.node("n1")
			p.node("n2")
			start := p.birthFor("r", "n1")
			taken := p.must(p.take("r", p.must(start), "n2", store.AnyOwner))
			res := p.again(start)
			if res.Tip != taken.Tip || res.Owner != "n2" {
				p.failf("a start that is known by its birth shows %+v, owner %q; the row has %+v, \"n2\"", res.Tip, res.Owner, taken.Tip)
			}
			p.must(p.step("r", taken))
			p.again(start)
			p.refused(p.birthFor("r", "n1"), store.RefusedFence)
		}},
		Case{Name: "resend/claim", Quote: ruleResend, run: func(p *probe) { // race 3
			p.node("n1")
			req := p.take("r", p.must(p.birth("r")), "n1", store.Unowned)
			done := p.must(req)
			if res := p.again(req); res.Tip != done.Tip || res.Tip.Fence != 1 || res.Owner != "n1" {
				p.failf("a resent claim shows %+v, owner %q", res.Tip, res.Owner)
			}
		}},
		Case{Name: "resend/park", Quote: ruleResend, run: func(p *probe) { // race 4, race 40
			p.node("n1")
			p.node("n2")
			first := p.must(p.birthFor("r", "n1"))
			park := p.act("r", first)
			park.Release = &store.Release{}
			parked := p.must(park)
			p.again(park)
			p.must(p.take("r", parked, "n2", store.Unowned))
			p.refused(park, store.RefusedFence) // stale: somebody else drives it, whichever way it went
		}},
		Case{Name: "resend/end-after-reward", Quote: ruleAnswer, run: func(p *probe) { // race 37
			p.node("n1")
			end := p.end("r", p.must(p.birthFor("r", "n1")))
			ended := p.must(end)
			p.must(p.step("r", ended)) // an outcome, as nobody
			res := p.refused(end, store.RefusedHead)
			if res.Tip.Fence != end.Expect.Fence || res.Owner != "" {
				p.failf("what tells the sender that the end was its own: token %d (want %d), owner %q (want nobody)",
					res.Tip.Fence, end.Expect.Fence, res.Owner)
			}
		}},
	)
}
