package storetest

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

func stateCases() []Case {
	return needs(indexed,
		Case{Name: "state/closed-refuses", Quote: step7, run: func(p *probe) { // race 20, race 23, race 33
			p.node("n1")
			for _, s := range []store.State{store.StateForming, store.StateDeleting, store.StateMoving} {
				id := event.ExecutionID("s-" + s.String())
				start := p.birth(id)
				start.State = s
				shut := p.must(start)
				p.refused(p.birth(id), store.RefusedState)
				p.refused(p.step(id, shut), store.RefusedState)
				for _, when := range []store.When{store.Unowned, store.Lapsed, store.Mine, store.AtEnd} {
					p.refused(p.take(id, shut, "n1", when), store.RefusedState)
				}
				piece := p.step(id, shut)
				piece.State = s // whoever is at it says so
				p.must(piece)
			}
		}},
		Case{Name: "state/kept", Quote: "A request whose State is StateKeep leaves it as it is.", run: func(p *probe) {
			p.node("n1")
			res := p.must(p.birthFor("s", "n1"))
			if res = p.must(p.step("s", res)); res.State != store.StateRunning {
				p.failf("a step makes a running execution %s", res.State)
			}
			res = p.must(p.end("s", res))
			if res = p.must(p.step("s", res)); res.State != store.StateCompleted {
				p.failf("an outcome makes a completed execution %s", res.State)
			}
		}},
		Case{Name: "state/closed-is-not-runnable", Quote: "Runnable returns executions that a node may claim now, at most d.Limit: in " +
			"state running, of one of d.Flows, with fewer than MaxStrikes strikes, and", run: func(p *probe) {
			start := p.birth("s")
			start.Release = &store.Release{}
			res := p.must(start)
			p.wants("s")
			shut := p.must(p.shut("s", res, store.StateMoving))
			p.wants()
			open := p.act("s", shut)
			open.State, open.Release = store.StateRunning, &store.Release{}
			p.must(open)
			p.wants("s")
		}},
		Case{Name: "state/paused", Quote: rulePaused, Parts: []store.Part{store.PartInbox}, run: paused},
		Case{Name: "state/closed-is-not-owned", Quote: "Owned returns the running executions of a node;", run: func(p *probe) {
			p.node("n1")
			res := p.must(p.birthFor("s", "n1"))
			moving := p.act("s", res)
			moving.State = store.StateMoving
			p.must(moving)
			p.owns("n1", false)
		}},
	)
}

const rulePaused = "StatePaused MUST make the owner nobody, and a paused execution MUST NOT be runnable or claimed as Unowned, whatever " +
	"its wake-up and its mail; the wake-up is kept for who resumes it."

// paused has an execution paused by its owner, and one that nobody owned.
func paused(p *probe) {
	p.node("n1")
	p.node("n2")
	owned := p.must(p.birthFor("owned", "n1"))
	pause := p.step("owned", owned)
	pause.State, pause.Release = store.StatePaused, &store.Release{WakeAt: 5}
	owned = p.must(pause)
	pause = p.act("parked", p.parked("parked", flow, 7))
	pause.State = store.StatePaused
	p.must(pause)
	pause = p.step("kept", p.must(p.birthFor("kept", "n1"))) // without a release the owner goes as well
	pause.State = store.StatePaused
	p.must(pause)
	for id, wake := range map[event.ExecutionID]event.Time{"owned": 5, "parked": 7, "kept": event.Never} { // order does not matter: each by itself
		if rec, err := p.s.Inbox.Post(p.ctx, id, store.Message{ID: "m", Name: "m"}); err != nil || rec.Delivery != store.Posted {
			p.failf("a message to %s, which is paused: %+v, %v", id, rec, err)
		}
		if h := p.head(id); h.State != store.StatePaused || h.Owner != "" || h.WakeAt != wake {
			p.failf("%s is %s, owned by %q, with the wake-up %d, want %d", id, h.State, h.Owner, h.WakeAt, wake)
		}
	}
	p.wants()
	p.owns("n1", false)
	p.refused(p.take("owned", owned, "n2", store.Unowned), store.RefusedOwner)
	p.refused(p.take("owned", owned, "n2", store.Lapsed), store.RefusedOwner)
	resume := p.step("owned", owned)
	resume.As, resume.State, resume.Release = "", store.StateRunning, &store.Release{WakeAt: 5}
	p.must(resume)
	p.wants("owned")
	if heads, _, err := p.s.Index.List(p.ctx, store.Query{States: []store.State{store.StatePaused}}); err != nil || len(heads) != 2 {
		p.failf("a list of what is paused has %d rows, %v", len(heads), err)
	}
}
