package storetest

import (
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleRelease = "Release: with Release the owner MUST become nobody and the wake-up WakeAt; if Seen < the mail counter, the " +
		"wake-up MUST be now at the latest."
	ruleEnd   = "A terminal State MUST make the owner nobody and the wake-up never."
	ruleState = "State is the state after the commit. A terminal state releases the execution, for ever, whatever Release says."
)

func releaseCases() []Case {
	return needs(mailing,
		Case{Name: "release/park", Quote: ruleRelease, run: func(p *probe) {
			p.node("n1")
			res := p.must(p.birthFor("r", "n1"))
			for _, wake := range []event.Time{0, res.Now.Add(time.Hour), event.Never} {
				req := p.step("r", res)
				req.Release = &store.Release{WakeAt: wake}
				parked := p.must(req)
				if h := p.head("r"); parked.Owner != "" || h.Owner != "" || h.WakeAt != wake {
					p.failf("parked until %d: owner %q, wake-up %d", wake, h.Owner, h.WakeAt)
				}
				res = p.must(p.take("r", parked, "n1", store.Unowned))
			}
		}},
		Case{Name: "release/at-start", Quote: ruleRelease, run: func(p *probe) { // enqueue and delayed start
			req := p.birth("r")
			req.Release = &store.Release{}
			now := p.must(req).Now
			if h := p.head("r"); h.WakeAt > now || h.Owner != "" {
				p.failf("enqueued: wake-up %d at %d, owner %q", h.WakeAt, now, h.Owner)
			}
			later := p.birth("later")
			later.Release = &store.Release{WakeAt: now.Add(time.Hour)}
			p.must(later)
			if h := p.head("later"); h.WakeAt != now.Add(time.Hour) {
				p.failf("delayed start: wake-up %d, want %d", h.WakeAt, now.Add(time.Hour))
			}
		}},
		Case{Name: "release/over-unseen-mail", Quote: ruleRelease, run: func(p *probe) { // race 5, case 48
			p.node("n1")
			res := p.must(p.birthFor("r", "n1"))
			p.post("r", "m1") // after the runner looked
			req := p.step("r", res)
			req.Release = &store.Release{WakeAt: event.Never}
			parked := p.must(req)
			if parked.Mail != 1 {
				p.failf("the answer's mail counter is %d, want 1", parked.Mail)
			}
			if h := p.head("r"); h.WakeAt > parked.Now {
				p.failf("parked over unseen mail: wake-up %d, now is %d", h.WakeAt, parked.Now)
			}
			p.wants("r")
		}},
		Case{Name: "release/over-seen-mail", Quote: ruleRelease, run: func(p *probe) { // it waits for another message
			p.node("n1")
			res := p.must(p.birthFor("r", "n1"))
			p.post("r", "m1")
			req := p.step("r", res)
			req.Seen, req.Release = 1, &store.Release{WakeAt: event.Never}
			p.must(req)
			if h := p.head("r"); h.WakeAt != event.Never || h.Seen != 1 {
				p.failf("parked over mail that was seen: wake-up %d, seen %d", h.WakeAt, h.Seen)
			}
		}},
		Case{Name: "release/seen-is-kept", Quote: "Seen is the number of the last message that the writer has looked at.", run: func(p *probe) {
			p.node("n1")
			res := p.must(p.birthFor("r", "n1"))
			p.post("r", "m1")
			look := p.act("r", res)
			look.Seen = 1
			res = p.must(look)
			req := p.act("r", res)
			req.Seen, req.Release = 0, &store.Release{WakeAt: event.Never}
			p.must(req)
			if h := p.head("r"); h.Seen != 1 || h.WakeAt != event.Never {
				p.failf("seen went from 1 to %d, wake-up %d", h.Seen, h.WakeAt)
			}
		}},
		Case{Name: "release/end", Quote: ruleEnd, run: func(p *probe) {
			p.node("n1")
			for _, s := range ends {
				id := event.ExecutionID("r-" + s.String())
				req := p.end(id, p.must(p.birthFor(id, "n1")))
				req.State, req.Release = s, &store.Release{} // which an end overrules
				res := p.must(req)
				if h := p.head(id); res.State != s || h.Owner != "" || h.WakeAt != event.Never || h.State != s {
					p.failf("after the end: %s, owner %q, wake-up %d", h.State, h.Owner, h.WakeAt)
				}
			}
			p.wants()
		}},
		Case{Name: "release/at-end-by-claim", Quote: ruleEnd, run: func(p *probe) { // terminate
			p.node("n1")
			p.node("n2")
			req := p.take("r", p.must(p.birthFor("r", "n1")), "n2", store.AnyOwner)
			req.Events, req.State = events("r", 1, 1), store.StateTerminated
			if res := p.must(req); res.Owner != "" || res.Tip.Fence != 1 {
				p.failf("terminated: owner %q, token %d", res.Owner, res.Tip.Fence)
			}
		}},
		Case{Name: "release/ended-for-ever", Quote: ruleState, run: func(p *probe) {
			p.node("n1")
			res := p.must(p.end("r", p.must(p.birthFor("r", "n1"))))
			outcome := p.step("r", res)
			outcome.Release = &store.Release{} // an outcome that would like to wake it
			p.must(outcome)
			if h := p.head("r"); h.WakeAt != event.Never || h.State != store.StateCompleted {
				p.failf("after an outcome: %s, wake-up %d", h.State, h.WakeAt)
			}
		}},
	)
}
