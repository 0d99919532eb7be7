package storetest

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const ruleNoFence = "[NoFence] is a missing token, which is not the same as token 0."

func tokenCases() []Case {
	return needs(owning,
		Case{Name: "token/missing-is-not-0", Quote: ruleNoFence, run: func(p *probe) { // claim H-33, B-51
			req := p.step("t", p.must(p.birth("t")))
			req.Expect.Fence = store.NoFence
			p.refused(req, store.RefusedFence)
			req.Expect.Fence = 0
			p.must(req)
		}},
		Case{Name: "token/unwritten", Quote: step3, run: unwritten}, // race 34
		Case{Name: "token/exact", Quote: step5, run: func(p *probe) { // claim B-49, B-50, B-54
			p.node("n1")
			res := p.must(p.birthFor("t", "n1"))
			for range 3 {
				res = p.must(p.take("t", res, "n1", store.Mine))
			}
			if res.Tip.Fence != 3 {
				p.fatalf("after three claims the token is %d", res.Tip.Fence)
			}
			for _, f := range []store.Fence{store.NoFence, 0, 2, 4, 1 << 40} {
				req := p.step("t", res)
				req.Expect.Fence = f
				p.refused(req, store.RefusedFence)
			}
			p.must(p.step("t", res))
		}},
		Case{Name: "token/grows-by-claims-only", Quote: ruleTokens, run: func(p *probe) {
			p.node("n1")
			res := p.must(p.birthFor("t", "n1"))
			same := func(what string, next store.Result) store.Result {
				if next.Tip.Fence != res.Tip.Fence {
					p.failf("%s moves the token from %d to %d", what, res.Tip.Fence, next.Tip.Fence)
				}
				res = next
				return next
			}
			same("a commit", p.must(p.step("t", res)))
			same("an act without events", p.must(p.act("t", res)))
			park := p.step("t", res)
			park.Release = &store.Release{}
			same("a release", p.must(park))
			same("a commit by nobody", p.must(p.step("t", res)))
			took := p.must(p.take("t", res, "n1", store.Unowned))
			if took.Tip.Fence != res.Tip.Fence+1 {
				p.failf("a claim moves the token from %d to %d", res.Tip.Fence, took.Tip.Fence)
			}
			res = took
			same("an end", p.must(p.end("t", res)))
			same("an outcome after the end", p.must(p.step("t", res)))
		}},
		Case{Name: "token/first-claim-shuts-out-the-starter", Quote: step5, run: func(p *probe) { // claim B-50
			p.node("n1")
			p.node("n2")
			first := p.must(p.birthFor("t", "n1"))
			p.must(p.take("t", first, "n2", store.AnyOwner))
			p.refused(p.step("t", first), store.RefusedFence)
		}},
		Case{Name: "token/claim-with-release", Quote: "With Claim as well, the token moves and the owner is nobody.", Parts: indexed, run: func(p *probe) {
			p.node("n1")
			req := p.take("t", p.must(p.birth("t")), "n1", store.Unowned)
			req.Release = &store.Release{WakeAt: event.Never}
			if res := p.must(req); res.Tip.Fence != 1 || res.Owner != "" {
				p.failf("a claim with a release gives token %d, owner %q", res.Tip.Fence, res.Owner)
			}
		}},
		Case{Name: "token/tip-of-one-commit-has-one-winner", Quote: step6, run: func(p *probe) { // race 13
			p.node("n1")
			res := p.must(p.birth("t"))
			reward, waker := p.step("t", res), p.take("t", res, "n1", store.Unowned)
			waker.Events = events("t", 1, 1)
			p.must(reward)
			p.refused(waker, store.RefusedHead)
		}},
	)
}

// unwritten tries to claim an id that nobody has written, in each way that a
// claim can be worded. None is granted, and nothing is left of the attempts: the
// start that comes then has token 0, and the first claim after it token 1.
func unwritten(p *probe) {
	p.node("n1")
	p.node("n2")
	other := p.must(p.birthFor("other", "n1")) // for a tip that looks like one
	for _, when := range []store.When{store.Unowned, store.Lapsed, store.Mine, store.AtEnd, store.AnyOwner} {
		p.refused(p.take("t", other, "n1", when), store.RefusedAbsent)
		free := store.Request{Execution: "t", Nonce: p.nonce(), Expect: store.Absent(), Claim: &store.Claim{Owner: "n1", When: when}}
		p.refused(free, store.RefusedInvalid)
	}
	if tip := p.tip("t"); tip != store.Absent() {
		p.failf("claims of what was never written left %+v", tip)
	}
	born := p.must(p.birth("t"))
	if born.Tip.Fence != 0 {
		p.failf("the start has token %d", born.Tip.Fence)
	}
	if res := p.must(p.take("t", born, "n2", store.Unowned)); res.Tip.Fence != 1 {
		p.failf("the first claim has token %d", res.Tip.Fence)
	}
}
