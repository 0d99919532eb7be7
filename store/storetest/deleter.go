package storetest

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleDelete = "Delete removes rows of an execution whose head row is in state deleting and still has tip's anchor, a bounded number " +
		"a call; done is true once the head row is gone too, or was never there."
	ruleDeleteRefused = "A row in another state, or of another anchor, is an error that matches [ErrRefused], and nothing is removed."
	ruleFloor         = "Tokens start at 0 with each incarnation of an execution and grow by one with each claim."
)

// deleting puts an unowned, running execution into the state in which it can be
// deleted.
func (p *probe) deleting(id event.ExecutionID, res store.Result) store.Result {
	return p.must(p.shut(id, res, store.StateDeleting))
}

// remove deletes an execution to the end.
func (p *probe) remove(id event.ExecutionID, tip store.Tip) {
	for range 100_000 {
		done, err := p.s.Deleter.Delete(p.ctx, id, tip)
		if err != nil {
			p.fatalf("Delete(%s): %v", id, err)
		}
		if done {
			return
		}
	}
	p.fatalf("Delete(%s) does not come to an end", id)
}

func deleterCases() []Case {
	return needs(append(mailing, store.PartDeleter),
		Case{Name: "delete/removes-all", Quote: ruleDelete, run: func(p *probe) { // claim H-17, race 23
			p.must(p.birth("neighbour"))
			p.post("neighbour", "m1")
			neighbour := p.see("neighbour")
			start := p.birth("d")
			start.Index.Labels = map[string]string{"x": "1"}
			res := p.must(start)
			p.post("d", "m1")
			req := p.step("d", res)
			req.Events = events("d", 1, 3000)
			going := p.deleting("d", p.must(req))
			p.wants("neighbour") // from here on nobody drives it and nobody starts it, however far the removal is
			for done := false; !done; {
				if res := p.commit(p.birth("d")); res.Refusal != store.RefusedState {
					p.failf("a start while it is being removed: %s", say(res))
				}
				var err error
				if done, err = p.s.Deleter.Delete(p.ctx, "d", going.Tip); err != nil {
					p.fatalf("Delete: %v", err)
				}
				p.wants("neighbour")
			}

			v := p.see("d")
			if v.tip != store.Absent() || v.ok || len(v.log) != 0 || len(v.mail) != 0 {
				p.failf("left over: tip %+v, head row %v, %d events, %d messages", v.tip, v.ok, len(v.log), len(v.mail))
			}
			p.lists(store.Query{Labels: map[string]string{"x": "1"}})
			p.lists(store.Query{}, "neighbour")
			if rec := p.send("d", "m2"); rec.Delivery != store.NoSuch {
				p.failf("a post to what is deleted: delivery %d", rec.Delivery)
			}
			p.unchanged(neighbour, "deleting another execution")
			p.remove("d", res.Tip) // gone already
			p.remove("never-there", res.Tip)
		}},
		Case{Name: "delete/refused", Quote: ruleDeleteRefused, run: func(p *probe) {
			p.node("n1")
			refused := func(id event.ExecutionID, tip store.Tip) {
				before := p.see(id)
				if done, err := p.s.Deleter.Delete(p.ctx, id, tip); done || !isRefused(err) {
					p.failf("Delete(%s) of what may not be: done %v, error %v", id, done, err)
				}
				p.unchanged(before, "a refused Delete")
			}
			running := p.must(p.birth("running"))
			refused("running", running.Tip)
			owned := p.must(p.birthFor("owned", "n1"))
			refused("owned", owned.Tip)
			refused("owned", store.Tip{})
			refused("ended", p.must(p.end("ended", p.must(p.birth("ended")))).Tip)
			going := p.deleting("running", running).Tip
			other := going
			other.Anchor += "x"
			refused("running", other)
			p.remove("running", running.Tip) // of an older tip, and the same incarnation
		}},
		Case{Name: "delete/of-what-has-ended", Quote: ruleDelete, run: func(p *probe) {
			p.node("n1")
			ended := p.must(p.end("d", p.must(p.birthFor("d", "n1"))))
			req := p.take("d", ended, "", store.AtEnd)
			req.State = store.StateDeleting
			p.remove("d", p.must(req).Tip)
		}},
		Case{Name: "delete/and-again", Quote: ruleFloor, run: recreated}, // claim H-09, race 10, race 11
	)
}

// recreated tries what writers of a deleted execution can do to its successor.
func recreated(p *probe) {
	p.node("n1")
	p.node("n2")
	first := p.must(p.birthFor("d", "n1"))
	zombie := p.step("d", first)
	p.post("d", "m1")
	second := p.must(p.take("d", first, "n2", store.AnyOwner))
	gone := p.take("d", second, "", store.AnyOwner)
	gone.State = store.StateDeleting
	p.remove("d", p.must(gone).Tip)

	start := p.birthFor("d", "n1")
	start.Events[0].Time++ // another moment: no store can take it for the old one
	anew := p.must(start)
	if anew.Tip.Anchor == first.Tip.Anchor {
		p.failf("two incarnations have the anchor %q", anew.Tip.Anchor)
	}
	if f := anew.Tip.Fence; f != 0 && f <= second.Tip.Fence {
		p.failf("the new incarnation starts with token %d, which the deleted one had too", f)
	}
	if anew.Mail != 0 || p.head("d").Seen != 0 {
		p.failf("the new incarnation starts with a mail counter of %d, %d seen", anew.Mail, p.head("d").Seen)
	}
	if ms, _ := p.pending("d"); len(ms) != 0 {
		p.failf("the new incarnation starts with %d messages", len(ms))
	}
	p.lists(store.Query{}, "d")
	p.refused(zombie, store.RefusedAnchor)
	p.refused(p.step("d", second), store.RefusedAnchor)
	p.refused(p.take("d", second, "n2", store.AnyOwner), store.RefusedAnchor)
	if _, err := p.s.Deleter.Delete(p.ctx, "d", second.Tip); !isRefused(err) {
		p.failf("deleting by the old tip: %v", err)
	}
	p.must(p.step("d", anew))
}
