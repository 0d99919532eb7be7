package storetest

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleStartState = "State: a start with StateKeep MUST set StateRunning."
	ruleTokens     = "Tokens: a start MUST set token 0; a claim MUST set the old token + 1; nothing else changes it."
	ruleAnswer     = "With Committed or Refused the fields from Tip on tell the head row as the judging transaction saw it " +
		"(after the commit, if there was one); an execution that does not exist has [Absent]."
)

func startCases() []Case {
	return needs(owning,
		Case{Name: "start/running", Quote: ruleStartState, run: func(p *probe) {
			if res := p.must(p.birth("s")); res.State != store.StateRunning {
				p.failf("a start that keeps the state gives %s", res.State)
			}
			forming := p.birth("t")
			forming.State = store.StateForming
			if res := p.must(forming); res.State != store.StateForming {
				p.failf("a start with StateForming gives %s", res.State)
			}
		}},
		Case{Name: "start/token-0", Quote: ruleTokens, run: func(p *probe) { // claim B-48, H-33
			p.node("n1")
			for _, req := range []store.Request{p.birth("nobody"), p.birthFor("somebody", "n1")} {
				if res := p.must(req); res.Tip.Fence != 0 {
					p.failf("the start of %s gives token %d", req.Execution, res.Tip.Fence)
				}
			}
		}},
		Case{Name: "start/answer", Quote: ruleAnswer, run: func(p *probe) {
			p.node("n1")
			res := p.must(p.birthFor("s", "n1"))
			if res.Owner != "n1" || res.Mail != 0 {
				p.failf("the answer shows owner %q and mail %d", res.Owner, res.Mail)
			}
			absent := p.commit(p.step("none", res))
			if absent.Tip != store.Absent() || absent.Owner != "" {
				p.failf("the refusal of what does not exist shows %+v, owner %q", absent.Tip, absent.Owner)
			}
		}},
		Case{Name: "start/conflict-fields", Quote: ruleAnswer, Parts: indexed, run: conflictFields}, // claim B-19
		Case{Name: "start/clock", Quote: "the store's clock, never later than the answer's arrival", run: func(p *probe) {
			p.node("n1")
			before := p.lease("n1", 1e9).Now
			res := p.must(p.birth("s"))
			after := p.lease("n1", 1e9).Now
			if res.Now < before || res.Now > after {
				p.failf("the answer's clock says %d, between %d and %d", res.Now, before, after)
			}
		}},
		Case{Name: "start/head-row", Quote: "IndexEntry is what a store must know of an execution in clear.", Parts: indexed, run: startHead},
		Case{Name: "start/many-events", Quote: "Events are consecutive from Expect.Head + 1, all of Execution.", run: func(p *probe) {
			req := p.birth("s")
			req.Events = events("s", 0, 5)
			res := p.must(req)
			req = p.step("s", res)
			req.Events = events("s", 5, 3)
			p.must(req)
			if got := p.log("s", store.Range{}); len(got) != 8 {
				p.failf("the log has %d events, want 8", len(got))
			}
		}},
	)
}

func startHead(p *probe) {
	p.node("n1")
	req := p.birth("s")
	req.Index = &store.IndexEntry{Flow: flow, Version: "v7", Parent: "parent-1", Labels: map[string]string{"b": "2", "a": "1"}}
	res := p.must(req)
	h := p.head("s")
	if h.Execution != "s" || h.Tip != res.Tip || h.State != store.StateRunning || h.Owner != "" || h.WakeAt != event.Never ||
		h.Mail != 0 || h.Seen != 0 || h.Strikes != 0 {
		p.failf("the head row of a new execution is %+v", h)
	}
	if x := h.Index; x.Flow != flow || x.Version != "v7" || x.Parent != "parent-1" || len(x.Labels) != 2 || x.Labels["a"] != "1" || x.Labels["b"] != "2" {
		p.failf("its index entry is %+v", x)
	}
	if h.Created > res.Now || h.Updated != h.Created {
		p.failf("created %d, updated %d, as the store's clock said %d", h.Created, h.Updated, res.Now)
	}
	if _, ok, err := p.s.Index.Get(p.ctx, "none"); ok || err != nil {
		p.failf("Get of what does not exist: %v, %v", ok, err)
	}
}

// conflictFields compares everything that a conflict's answer says, whichever
// uniqueness of a backend stands behind it.
func conflictFields(p *probe) {
	p.node("n1")
	p.must(p.birthFor("c", "n1"))
	is := func(what string, req store.Request, why store.Refusal) {
		h := p.head("c")
		got := p.refused(req, why)
		got.Now = 0
		want := store.Result{Outcome: store.Refused, Refusal: why, Tip: h.Tip, Owner: h.Owner, State: h.State, Mail: h.Mail}
		if got != want {
			p.failf("%s: %+v, want %+v", what, got, want)
		}
	}
	twin := p.birthFor("c", "n1")
	is("a start of what exists", twin, store.RefusedHead)
	other := p.birth("c")
	other.Events[0].Payload = []byte(`{"flow":"other","input":1,"seed":"01"}`)
	is("another start of it", other, store.RefusedHead)
	res := p.must(p.step("c", store.Result{Tip: p.tip("c"), Owner: "n1"}))
	slot := p.step("c", store.Result{Tip: res.Tip, Owner: "n1"})
	slot.Expect.Head, slot.Expect.Mark, slot.Events = 0, store.Nonce{}, events("c", 1, 1)
	is("a slot that is taken", slot, store.RefusedHead)
	p.must(p.take("c", res, "n1", store.Mine))
	is("a start of what was claimed since", twin, store.RefusedFence)
	is("a slot that is taken, under an old token", slot, store.RefusedFence)
}
