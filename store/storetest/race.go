package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleOneWinner = "Of N writers that saw the same tip exactly one wins."
	ruleOvertake  = "It MUST overtake commits that wait in the backend's own queue."
)

// crowd is how many goroutines a race has.
const crowd = 64

// all runs n goroutines to their end. They may not fail the case themselves.
func all(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// compete sends every request at once, each in a call of its own.
func (p *probe) compete(reqs []store.Request) []store.Result {
	for _, r := range reqs {
		p.note(r.Execution)
	}
	out, errs := make([]store.Result, len(reqs)), make([]error, len(reqs))
	all(len(reqs), func(i int) {
		res, err := p.s.Log.Commit(p.ctx, reqs[i])
		if errs[i] = err; err == nil {
			out[i] = res[0]
		}
	})
	for _, err := range errs {
		if err != nil {
			p.fatalf("Commit: %v", err)
		}
	}
	return out
}

// oneWins checks that exactly one of the competitors was committed and that all
// others were refused for one of these reasons.
func (p *probe) oneWins(res []store.Result, why ...store.Refusal) {
	won := 0
	for _, r := range res {
		switch {
		case r.Outcome == store.Committed && !r.Again:
			won++
		case r.Outcome == store.Refused && (r.Refusal == why[0] || r.Refusal == why[len(why)-1]):
		default:
			p.failf("a competitor: %s", say(r))
		}
	}
	if won != 1 {
		p.failf("%d of %d competitors won", won, len(res))
	}
}

func raceCases() []Case {
	return needs(mailing, // case 63
		Case{Name: "race/one-id", Quote: ruleOneWinner, run: func(p *probe) { // case 1, case 3, case 4
			reqs := make([]store.Request, crowd)
			for i := range reqs {
				reqs[i] = p.birth("x")
			}
			p.oneWins(p.compete(reqs), store.RefusedHead)
			if log := p.log("x", store.Range{}); len(log) != 1 {
				p.failf("the log has %d events", len(log))
			}
		}},
		Case{Name: "race/many-ids", Quote: ruleAnchor, run: func(p *probe) { // claim
			reqs := make([]store.Request, crowd)
			for i := range reqs {
				reqs[i] = p.birth(event.ExecutionID(fmt.Sprintf("x-%d", i)))
			}
			anchors := map[store.Anchor]bool{}
			for _, r := range p.compete(reqs) {
				if r.Outcome != store.Committed {
					p.failf("a creator: %s", say(r))
				}
				anchors[r.Tip.Anchor] = true
			}
			if len(anchors) != crowd {
				p.failf("%d executions have %d anchors", crowd, len(anchors))
			}
		}},
		Case{Name: "race/claims", Quote: ruleOneWinner, run: func(p *probe) { // claim H-34, race 15
			res := p.parked("x", flow, 0)
			p.oneWins(p.compete(p.claims("x", res, crowd)), store.RefusedFence)
		}},
		Case{Name: "race/claims-and-commits", Quote: ruleOneWinner, run: func(p *probe) { // claim A-09, race 13
			for round := range 8 {
				id := event.ExecutionID(fmt.Sprintf("x-%d", round))
				res := p.parked(id, flow, 0)
				reqs := p.claims(id, res, crowd/2)
				for range crowd / 2 {
					reqs = append(reqs, p.step(id, res))
				}
				p.oneWins(p.compete(reqs), store.RefusedFence, store.RefusedHead)
			}
		}},
		Case{Name: "race/commits-on-one-tip", Quote: ruleOneWinner, run: func(p *probe) { // claim H-26, race 39, case 78
			res := p.must(p.birth("x"))
			for range 4 {
				reqs := make([]store.Request, crowd)
				for i := range reqs {
					reqs[i] = p.step("x", res)
				}
				p.oneWins(p.compete(reqs), store.RefusedHead)
				res.Tip = p.tip("x")
			}
		}},
		Case{Name: "race/resendings", Quote: ruleResend, run: func(p *probe) { // race 26
			req := p.step("x", p.must(p.birth("x")))
			reqs := make([]store.Request, crowd)
			for i := range reqs {
				reqs[i] = req
			}
			first := 0
			for _, r := range p.compete(reqs) {
				if r.Outcome != store.Committed {
					p.failf("one of %d sendings: %s", crowd, say(r))
				}
				if !r.Again {
					first++
				}
			}
			if first != 1 {
				p.failf("%d sendings of one request were the first", first)
			}
		}},
		Case{Name: "race/posts-and-park", Quote: ruleRelease, run: postsAndPark}, // race 5, case 48
		Case{Name: "race/tips", Quote: ruleTip, run: raceTips},                   // claim A-20
		Case{Name: "race/renewals", Quote: ruleOvertake, run: raceRenewals},      // case 30
	)
}

// claims returns n claims of an unowned execution, each by a node of its own.
func (p *probe) claims(id event.ExecutionID, res store.Result, n int) []store.Request {
	reqs := make([]store.Request, n)
	for i := range reqs {
		node := store.NodeID(fmt.Sprintf("n%d", i))
		p.node(node)
		reqs[i] = p.take(id, res, node, store.Unowned)
	}
	return reqs
}

// postsAndPark parks executions while mail comes for them: whatever the order,
// none may sleep over mail, and no number may be given twice.
func postsAndPark(p *probe) {
	p.node("n1")
	for round := range 8 {
		id := event.ExecutionID(fmt.Sprintf("x-%d", round))
		park := p.step(id, p.must(p.birthFor(id, "n1")))
		park.Release = &store.Release{WakeAt: event.Never}
		const posters = crowd / 4
		var parked []store.Result
		errs := make([]error, posters+2)
		last := round%2 == 1 // in every other round the park certainly comes after all mail
		all(posters+1, func(i int) {
			if i != posters/2 {
				_, errs[i] = p.s.Inbox.Post(p.ctx, id, store.Message{ID: fmt.Sprintf("m%d", i), Name: "letter"})
			} else if !last {
				parked, errs[i] = p.s.Log.Commit(p.ctx, park)
			}
		})
		if last {
			parked, errs[posters+1] = p.s.Log.Commit(p.ctx, park)
		}
		if err := errors.Join(errs...); err != nil || parked[0].Outcome != store.Committed {
			p.fatalf("the park: %+v, %v", parked, err)
		}
		ms, mail := p.pending(id)
		if mail != posters || len(ms) != posters {
			p.failf("%d messages were posted, %d are pending, the counter is %d", posters, len(ms), mail)
		}
		got, _, _ := p.runnable(1000, flow)
		if len(got) != round+1 {
			p.failf("%d of %d parked executions with mail are runnable", len(got), round+1)
		}
	}
}

// raceTips reads tips while a writer commits: each must be one that was.
func raceTips(p *probe) {
	p.node("n1")
	res := p.must(p.birthFor("x", "n1"))
	was := map[store.Tip]bool{res.Tip: true}
	stop := make(chan struct{})
	seen := make([]map[store.Tip]bool, 4)
	errs := make([]error, len(seen)+1)
	all(len(seen)+1, func(i int) {
		if i == len(seen) {
			defer close(stop)
			for n := range 60 {
				req := p.step("x", res)
				if n%3 == 2 { // the token moves with head and mark
					req.Claim = &store.Claim{Owner: "n1", When: store.Mine}
				}
				out, err := p.s.Log.Commit(p.ctx, req)
				if err != nil || out[0].Outcome != store.Committed {
					errs[i] = fmt.Errorf("commit %d: %v, %v", n, out, err)
					return
				}
				res = out[0]
				was[res.Tip] = true
			}
			return
		}
		seen[i] = map[store.Tip]bool{}
		for {
			tip, err := p.s.Log.Tip(p.ctx, "x")
			if err != nil {
				errs[i] = err
				return
			}
			seen[i][tip] = true
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			p.failf("%v", err)
		}
	}
	for _, tips := range seen {
		for tip := range tips {
			if !was[tip] {
				p.failf("a reader saw the tip %+v, which never was", tip)
			}
		}
	}
}

// raceRenewals renews a lease while writers never stop: a renewal that waits for
// the queue to run empty does not come back.
func raceRenewals(p *probe) {
	stop := make(chan struct{})
	var renewed error
	errs := make([]error, crowd)
	all(crowd+1, func(i int) {
		if i == crowd {
			defer close(stop)
			for range 10 {
				if _, renewed = p.s.Leaser.Renew(p.ctx, "n1", 1e9, nil); renewed != nil {
					return
				}
			}
			return
		}
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			id := event.ExecutionID(fmt.Sprintf("x-%d-%d", i, n))
			var nonce store.Nonce
			copy(nonce[:], id)
			res, err := p.s.Log.Commit(p.ctx, store.Request{Execution: id, Nonce: nonce, Expect: store.Absent(),
				Events: events(id, 0, 1), Index: &store.IndexEntry{Flow: flow}})
			if err != nil || res[0].Outcome != store.Committed {
				errs[i] = fmt.Errorf("start of %s: %v, %v", id, res, err)
				return
			}
		}
	})
	if renewed != nil {
		p.failf("a renewal under load: %v", renewed)
	}
	for _, err := range errs {
		if err != nil {
			p.failf("%v", err)
		}
	}
}
