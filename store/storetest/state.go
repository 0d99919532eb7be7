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
