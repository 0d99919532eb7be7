package storetest

import (
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// The conditions of a claim, as package store words them.
const (
	ruleUnowned = "nobody owns it, and it is running"
	ruleLapsed  = "its owner's node lease is over, by the store's clock"
	ruleMine    = "the claimant owns it already"
	ruleAtEnd   = "its state is terminal"
	ruleAny     = "always: operators; and a start, which has no owner to ask about"
	ruleAlive   = "Its node lease must be alive by the store's clock in the same transaction."
	ruleNobody  = "\"\" claims for nobody: the token moves and no one owns the execution (delete, migrate)."
	ruleAs      = "As is the owner that the writer claims to be, \"\" for nobody (late outcomes, operators). Compared with the head row unless the request claims."
)

// ends are the terminal states.
var ends = []store.State{store.StateCompleted, store.StateFailed, store.StateCancelled, store.StateTerminated}

func claimCases() []Case {
	return needs(owning,
		Case{Name: "claim/unowned", Quote: ruleUnowned, run: func(p *probe) { // race 15
			p.node("n1")
			p.node("n2")
			first := p.must(p.birth("c"))
			res := p.must(p.take("c", first, "n1", store.Unowned))
			if res.Owner != "n1" || res.Tip.Head != first.Tip.Head {
				p.failf("after the claim: owner %q, head %d", res.Owner, res.Tip.Head)
			}
			p.refused(p.take("c", first, "n2", store.Unowned), store.RefusedFence)
			p.refused(p.take("c", res, "n2", store.Unowned), store.RefusedOwner)
			ended := p.must(p.end("c", res))
			p.refused(p.take("c", ended, "n2", store.Unowned), store.RefusedOwner) // nobody owns it, but it has ended
		}},
		Case{Name: "claim/unowned-forming", Quote: ruleUnowned, run: func(p *probe) {
			p.node("n1")
			req := p.birth("c")
			req.State = store.StateForming
			forming := p.must(req)
			p.refused(p.take("c", forming, "n1", store.Unowned), store.RefusedState)
			both := p.take("c", forming, "n1", store.Unowned)
			both.State = store.StateRunning // passes step 7; and is not running yet
			p.refused(both, store.RefusedOwner)
			open := p.act("c", forming)
			open.State = store.StateRunning
			p.must(p.take("c", p.must(open), "n1", store.Unowned))
		}},
		Case{Name: "claim/lapsed", Quote: ruleLapsed, run: func(p *probe) { // race 8, race 9
			p.node("n2")
			p.lease("n1", 3*time.Second)
			first := p.must(p.birthFor("c", "n1"))
			p.refused(p.take("c", first, "n2", store.Lapsed), store.RefusedOwner) // alive
			p.advance(2 * time.Second)
			p.lease("n1", 3*time.Second)
			p.advance(2 * time.Second)
			p.refused(p.take("c", first, "n2", store.Lapsed), store.RefusedOwner) // renewed in time
			p.advance(2 * time.Second)
			res := p.must(p.take("c", first, "n2", store.Lapsed))
			if res.Owner != "n2" || res.Tip.Fence != 1 {
				p.failf("after the takeover: owner %q, token %d", res.Owner, res.Tip.Fence)
			}
			p.refused(p.step("c", first), store.RefusedFence) // the old owner, back from a pause
		}},
		Case{Name: "claim/lapsed-of-what-moved-on", Quote: step6, run: func(p *probe) { // case 27
			p.node("n2")
			p.node("n3")
			p.lease("n1", time.Second)
			lost := map[event.ExecutionID]store.Result{}
			for _, id := range []event.ExecutionID{"ended", "claimed", "driven"} {
				lost[id] = p.must(p.birthFor(id, "n1"))
			}
			p.advance(1500 * time.Millisecond)
			// All of them are to be had. Before the rescuer comes:
			p.must(p.end("ended", lost["ended"]))
			p.must(p.take("claimed", lost["claimed"], "n3", store.Lapsed))
			p.must(p.step("driven", lost["driven"]))
			for _, id := range []event.ExecutionID{"ended", "claimed", "driven"} {
				was := p.see(id)
				why := store.RefusedHead
				if id == "claimed" {
					why = store.RefusedFence
				}
				rescue := p.take(id, lost[id], "n2", store.Lapsed)
				rescue.Events = events(id, lost[id].Tip.Head+1, 1)
				p.refused(rescue, why)
				p.unchanged(was, "a rescue by what was seen before")
			}
		}},
		Case{Name: "claim/lapsed-does-not-stop-the-owner", Quote: ruleLapsed, run: func(p *probe) {
			p.lease("n1", time.Second)
			first := p.must(p.birthFor("c", "n1"))
			p.advance(2 * time.Second)
			p.must(p.step("c", first)) // nobody has taken it
		}},
		Case{Name: "claim/lapsed-needs-an-owner", Quote: ruleLapsed, run: func(p *probe) {
			p.node("n1")
			first := p.must(p.birth("c"))
			p.refused(p.take("c", first, "n1", store.Lapsed), store.RefusedOwner)
		}},
		Case{Name: "claim/lapsed-after-leave", Quote: "Leave ends node's lease at once.", run: func(p *probe) {
			p.node("n1")
			p.node("n2")
			first := p.must(p.birthFor("c", "n1"))
			if err := p.s.Leaser.Leave(p.ctx, "n1"); err != nil {
				p.fatalf("leave: %v", err)
			}
			p.must(p.take("c", first, "n2", store.Lapsed))
		}},
		Case{Name: "claim/mine", Quote: ruleMine, run: func(p *probe) { // race 24, race 38
			p.node("n1")
			p.node("n2")
			first := p.must(p.birthFor("c", "n1"))
			p.refused(p.take("c", first, "n2", store.Mine), store.RefusedOwner)
			res := p.must(p.take("c", first, "n1", store.Mine))
			if res.Tip.Fence != 1 || res.Owner != "n1" {
				p.failf("after the claim: token %d, owner %q", res.Tip.Fence, res.Owner)
			}
			p.refused(p.step("c", first), store.RefusedFence) // what the node did before is over too
			park := p.act("c", res)
			park.Release = &store.Release{}
			p.refused(p.take("c", p.must(park), "n1", store.Mine), store.RefusedOwner) // nobody's is not mine
		}},
		Case{Name: "claim/mine-by-nobody", Quote: ruleMine, run: func(p *probe) {
			first := p.must(p.birth("c"))
			p.refused(p.take("c", first, "", store.Mine), store.RefusedOwner)
		}},
		Case{Name: "claim/at-end", Quote: ruleAtEnd, run: func(p *probe) {
			first := p.must(p.birth("c"))
			p.refused(p.take("c", first, "", store.AtEnd), store.RefusedOwner)
			for _, s := range ends {
				id := event.ExecutionID("c-" + s.String())
				end := p.end(id, p.must(p.birth(id)))
				end.State = s
				res := p.must(p.take(id, p.must(end), "", store.AtEnd))
				if res.Tip.Fence != 1 || res.State != s {
					p.failf("a claim at the end gives token %d, state %s; it was %s", res.Tip.Fence, res.State, s)
				}
			}
		}},
		Case{Name: "claim/any", Quote: ruleAny, run: func(p *probe) { // race 31
			p.node("n1")
			p.node("n2")
			first := p.must(p.birthFor("c", "n1"))
			res := p.must(p.take("c", first, "n2", store.AnyOwner)) // from a living owner
			moving := p.take("c", res, "", store.AnyOwner)
			moving.State = store.StateMoving
			shut := p.must(moving)
			res = p.must(p.take("c", shut, "n1", store.AnyOwner)) // from a closed state, which it leaves as it is
			if res.State != store.StateMoving || res.Tip.Fence != 3 {
				p.failf("state %s, token %d", res.State, res.Tip.Fence)
			}
		}},
		Case{Name: "claim/owner-alive", Quote: ruleAlive, run: func(p *probe) { // race 7
			p.lease("n1", time.Second)
			p.node("n2")
			first := p.must(p.birthFor("c", "n1"))
			p.advance(1500 * time.Millisecond)
			for _, when := range []store.When{store.Mine, store.Lapsed, store.AnyOwner} {
				p.refused(p.take("c", first, "n1", when), store.RefusedLease)
			}
			p.lease("n1", time.Second)
			p.must(p.take("c", first, "n1", store.Mine))
		}},
		Case{Name: "claim/for-nobody", Quote: ruleNobody, run: func(p *probe) {
			res := p.must(p.take("c", p.must(p.birth("c")), "", store.Unowned))
			if res.Owner != "" || res.Tip.Fence != 1 {
				p.failf("owner %q, token %d", res.Owner, res.Tip.Fence)
			}
		}},
		Case{Name: "claim/as", Quote: ruleAs, run: func(p *probe) { // race 14, claim B-51
			p.node("n1")
			first := p.must(p.birthFor("c", "n1"))
			for _, as := range []store.NodeID{"", "n2", "N1", "n1 "} {
				req := p.step("c", first)
				req.As = as
				p.refused(req, store.RefusedOwner)
			}
			p.must(p.step("c", first))
			idle := p.must(p.birth("idle"))
			req := p.step("idle", idle)
			req.As = "n1"
			p.refused(req, store.RefusedOwner)
			req.As = ""
			p.must(req)
			claims := p.take("c", first, "n1", store.Mine)
			claims.Expect, claims.As = p.tip("c"), "somebody else" // not compared
			p.must(claims)
		}},
	)
}
