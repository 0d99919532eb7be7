package storetest

import (
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// The steps of the order of judgement, as Log.Commit words them.
const (
	step1 = "1. the request contradicts itself: no nonce, an id or an event outside the grammar, events not consecutive from " +
		"Expect.Head+1, a start without events or index, an index without a start, a publication without a key → RefusedInvalid"
	step2  = "2. Nonce equals the row's mark → Committed, Again (a start also: Nonce equals the row's birth)"
	step3  = "3. a start and no row → on to 9 a start and a row in a closed state → RefusedState no start and no row → RefusedAbsent"
	step4  = "4. Expect.Anchor differs (not in a start) → RefusedAnchor"
	step5  = "5. Expect.Fence differs; the NoFence of a start is right for a row with token 0, and nowhere else → RefusedFence"
	step6  = "6. Expect.Head differs; Expect.Mark is set and differs; a start and the row exists → RefusedHead"
	step7  = "7. the row's state is closed (forming, deleting, moving) and the request neither sets State nor claims AnyOwner → RefusedState"
	step8  = "8. no Claim and As is not the row's owner; or Claim and its When does not hold → RefusedOwner"
	step9  = "9. Claim.Owner is somebody whose lease is not alive → RefusedLease"
	step10 = "10. State is terminal and Seen < the mail counter → RefusedMail"
)

// judgementCases has a case for each step, and for each pair of neighbours one
// in which both apply: the earlier one has to win.
func judgementCases() []Case {
	return needs(owning, // claim A-02, B-17, B-18
		Case{Name: "judgement/invalid", Quote: step1, run: judgeInvalid},
		Case{Name: "judgement/invalid-before-again", Quote: step1, run: func(p *probe) {
			req := p.birth("j")
			p.must(req)
			req.Events[0].Kind = ""
			p.refused(req, store.RefusedInvalid)
		}},
		Case{Name: "judgement/again-before-closed", Quote: step2, run: func(p *probe) {
			birth := p.birth("j")
			shut := p.must(p.shut("j", p.must(birth), store.StateMoving))
			p.again(birth) // by its birth; the row is closed
			late := p.act("j", shut)
			late.Nonce = shut.Tip.Mark
			p.again(late) // by the mark
		}},
		Case{Name: "judgement/again-before-anchor-token-head", Quote: step2, run: func(p *probe) {
			first := p.must(p.birth("j"))
			req := p.step("j", first)
			p.must(req)
			req.Expect.Anchor += "x"
			req.Expect.Fence++
			p.again(req)
		}},
		Case{Name: "judgement/closed-start", Quote: step3, run: func(p *probe) {
			p.must(p.shut("j", p.must(p.birth("j")), store.StateDeleting)) // the claim in it makes the token 1
			p.refused(p.birth("j"), store.RefusedState)                    // race 33
		}},
		Case{Name: "judgement/absent", Quote: step3, run: func(p *probe) {
			res := store.Result{Tip: store.Tip{Head: 3, Fence: 1, Anchor: "77"}}
			p.refused(p.step("j", res), store.RefusedAbsent)
			p.refused(p.take("j", res, "nobody-known", store.Lapsed), store.RefusedAbsent)
		}},
		Case{Name: "judgement/anchor-before-token", Quote: step4, run: func(p *probe) {
			req := p.step("j", p.must(p.birth("j")))
			req.Expect.Anchor += "x"
			p.refused(req, store.RefusedAnchor)
			req.Expect.Fence++
			req.Expect.Head++
			req.Events = events("j", req.Expect.Head+1, 1)
			p.refused(req, store.RefusedAnchor)
		}},
		Case{Name: "judgement/token-before-head", Quote: step5, run: func(p *probe) {
			req := p.step("j", p.must(p.birth("j")))
			req.Expect.Fence++
			p.refused(req, store.RefusedFence)
			req.Expect.Head++
			req.Events = events("j", req.Expect.Head+1, 1)
			p.refused(req, store.RefusedFence)
		}},
		Case{Name: "judgement/token-before-exists", Quote: step5, run: func(p *probe) { // claim B-16, B-17, B-54
			p.node("n1")
			first := p.must(p.birth("j"))
			p.refused(p.birth("j"), store.RefusedHead) // token 0: the id is what is in the way
			p.must(p.take("j", first, "n1", store.Unowned))
			p.refused(p.birth("j"), store.RefusedFence)
		}},
		Case{Name: "judgement/head-before-closed", Quote: step6, run: func(p *probe) {
			shut := p.must(p.shut("j", p.must(p.birth("j")), store.StateMoving))
			req := p.act("j", shut)
			req.Expect.Head++
			p.refused(req, store.RefusedHead)
			req.Expect.Head, req.Expect.Mark = shut.Tip.Head, p.nonce()
			p.refused(req, store.RefusedHead)
		}},
		Case{Name: "judgement/mark-compared-when-set", Quote: step6, run: func(p *probe) { // race 25
			first := p.must(p.birth("j"))
			req := p.step("j", first)
			req.Expect.Mark = p.nonce()
			p.refused(req, store.RefusedHead)
			req.Expect.Mark = store.Nonce{} // the zero nonce is not compared
			p.must(req)
		}},
		Case{Name: "judgement/closed-before-owner", Quote: step7, run: func(p *probe) {
			shut := p.must(p.shut("j", p.must(p.birth("j")), store.StateMoving))
			req := p.step("j", shut)
			p.refused(req, store.RefusedState)
			req.As = "n1"
			p.refused(req, store.RefusedState)
			p.refused(p.take("j", shut, "n1", store.Unowned), store.RefusedState)
		}},
		Case{Name: "judgement/owner-before-lease", Quote: step8, run: func(p *probe) {
			p.node("n1")
			first := p.must(p.birthFor("j", "n1"))
			p.refused(p.take("j", first, "never-renewed", store.Unowned), store.RefusedOwner)
			p.refused(p.take("j", first, "never-renewed", store.Mine), store.RefusedOwner)
		}},
		Case{Name: "judgement/lease", Quote: step9, run: func(p *probe) {
			p.refused(p.birthFor("j", "never-renewed"), store.RefusedLease)
			p.lease("n1", time.Second)
			p.advance(1500 * time.Millisecond)
			p.refused(p.birthFor("j", "n1"), store.RefusedLease)
			first := p.must(p.birth("j"))
			p.refused(p.take("j", first, "n1", store.Unowned), store.RefusedLease)
			p.node("n1")
			p.must(p.take("j", first, "n1", store.Unowned))
		}},
		Case{Name: "judgement/owner-before-mail", Quote: step8, Parts: mailing, run: func(p *probe) {
			p.node("n1")
			first := p.must(p.birthFor("j", "n1"))
			p.post("j", "m1")
			req := p.end("j", first)
			req.As = ""
			p.refused(req, store.RefusedOwner)
		}},
		Case{Name: "judgement/lease-before-mail", Quote: step9, Parts: mailing, run: func(p *probe) {
			first := p.must(p.birth("j"))
			p.post("j", "m1")
			req := p.end("j", first)
			req.Claim = &store.Claim{Owner: "never-renewed", When: store.Unowned}
			p.refused(req, store.RefusedLease)
		}},
		Case{Name: "judgement/mail", Quote: step10, Parts: mailing, run: func(p *probe) { // race 6
			p.node("n1")
			first := p.must(p.birthFor("j", "n1"))
			p.post("j", "m1")
			req := p.end("j", first)
			if res := p.refused(req, store.RefusedMail); res.Mail != 1 {
				p.failf("the refusal shows a mail counter of %d, want 1", res.Mail)
			}
			req.Seen = 1
			p.must(req)
		}},
	)
}

// shut returns a request by nobody that puts an unowned execution into a
// closed state, with a claim for nobody.
func (p *probe) shut(id event.ExecutionID, res store.Result, s store.State) store.Request {
	req := p.take(id, res, "", store.Unowned)
	req.State = s
	return req
}

func judgeInvalid(p *probe) {
	first := p.must(p.birth("j"))
	changes := []struct {
		why    string
		start  bool
		change func(*store.Request)
	}{
		{"no nonce", false, func(r *store.Request) { r.Nonce = store.Nonce{} }},
		{"no id", true, func(r *store.Request) { r.Execution, r.Events = "", events("", 0, 1) }},
		{"an id outside the grammar", true, func(r *store.Request) { r.Execution, r.Events = "a b", events("a b", 0, 1) }},
		{"an event of another execution", false, func(r *store.Request) { r.Events[0].Execution = "other" }},
		{"an event without a kind", false, func(r *store.Request) { r.Events[0].Kind = "" }},
		{"a gap before the first event", false, func(r *store.Request) { r.Events[0].Sequence++ }}, // claim H-26
		{"a repeat as the first event", false, func(r *store.Request) { r.Events[0].Sequence-- }},
		{"a gap between events", false, func(r *store.Request) {
			r.Events = append(r.Events, events("j", r.Events[0].Sequence+2, 1)...)
		}},
		{"one sequence twice", false, func(r *store.Request) { r.Events = append(r.Events, r.Events[0]) }},
		{"a start at sequence 1", true, func(r *store.Request) { r.Events = events("k", 1, 1) }},
		{"a start without events", true, func(r *store.Request) { r.Events = nil }},
		{"a start without index", true, func(r *store.Request) { r.Index = nil }},
		{"a publication without a key", false, func(r *store.Request) { r.Publish = []store.Publication{{Key: "a"}, {Value: "x"}} }},
		{"a key taken back that is none", true, func(r *store.Request) { r.Publish = []store.Publication{{Gone: true}} }},
		{"an index without a start", false, func(r *store.Request) { r.Index = &store.IndexEntry{Flow: flow} }},
	}
	for _, c := range changes {
		req := p.step("j", first)
		if c.start {
			req = p.birth("k")
		}
		c.change(&req)
		res := p.commit(req)
		if res.Outcome != store.Refused || res.Refusal != store.RefusedInvalid || res.Err == nil {
			p.failf("%s: %s, want refused (%s) with the cause", c.why, say(res), store.RefusedInvalid)
		}
	}
	if tip := p.tip("j"); tip != first.Tip {
		p.failf("requests that contradict themselves moved the tip from %+v to %+v", first.Tip, tip)
	}
	if tip := p.tip("k"); tip.Exists() {
		p.failf("a start that contradicts itself made an execution: %+v", tip)
	}
	p.must(p.step("j", first)) // nothing of it is in the way
	p.must(p.birth("k"))
}
