package storetest

import (
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleFate = "Commit judges each request alone and answers each, in order: it MUST return exactly len(reqs) results, and MUST " +
		"let no request change the fate of another."
	ruleWhole = "A request is committed wholly or not at all: events, head row, index, consumed and posted messages MUST become " +
		"durable together."
	ruleNothing = "The error is non-nil only when nothing was attempted (then there are no results): the store is closed, or ctx " +
		"was over on arrival."
	ruleTwo = "Two requests for one execution in one call are judged one after the other."
)

func fateCases() []Case {
	return needs(owning,
		Case{Name: "fate/innocents", Quote: ruleFate, Parts: mailing, run: innocents}, // claim B-21, B-22, B-63, B-64
		Case{Name: "fate/two-starts-of-one-id", Quote: ruleFate, run: func(p *probe) { // claim B-26, case 4
			res := p.commitAll(p.birth("twin"), p.birth("twin"), p.birth("other"))
			if res[0].Outcome != store.Committed || res[1].Refusal != store.RefusedHead || res[2].Outcome != store.Committed {
				p.failf("two starts of one id and another: %s; %s; %s", say(res[0]), say(res[1]), say(res[2]))
			}
			if res[1].Tip != res[0].Tip {
				p.failf("the refused twin sees %+v, the winner made %+v", res[1].Tip, res[0].Tip)
			}
		}},
		Case{Name: "fate/one-after-the-other", Quote: ruleTwo, run: func(p *probe) { // race 12
			p.node("n1")
			p.node("n2")
			old := p.must(p.birthFor("e", "n1"))
			fresh := p.must(p.take("e", old, "n2", store.AnyOwner))
			zombie, owner := p.step("e", old), p.step("e", fresh)
			res := p.commitAll(zombie, owner)
			if res[0].Refusal != store.RefusedFence || res[1].Outcome != store.Committed {
				p.fatalf("a zombie's and the owner's request in one call: %s; %s", say(res[0]), say(res[1]))
			}
			one := p.step("e", res[1])
			one.Expect.Mark = store.Nonce{}
			two := one
			two.Nonce, two.Expect.Head, two.Events = p.nonce(), one.Expect.Head+1, events("e", one.Expect.Head+2, 1)
			res = p.commitAll(one, two)
			if res[0].Outcome != store.Committed || res[1].Outcome != store.Committed {
				p.failf("two requests that follow each other: %s; %s", say(res[0]), say(res[1]))
			}
		}},
		Case{Name: "fate/alone", Quote: ruleFate, run: func(p *probe) {
			first := p.birth("a")
			first.Alone = true
			p.must(first)
			second, third, twin := p.birth("b"), p.birth("c"), p.birth("a")
			third.Alone, twin.Alone = true, true
			res := p.commitAll(second, third, twin)
			if res[0].Outcome != store.Committed || res[1].Outcome != store.Committed || res[2].Refusal != store.RefusedHead {
				p.failf("a start, one alone, and a duplicate alone: %s; %s; %s", say(res[0]), say(res[1]), say(res[2]))
			}
			step := p.step("c", res[1])
			step.Alone = true
			p.must(step)
			p.again(step)
		}},
		Case{Name: "fate/none", Quote: ruleFate, run: func(p *probe) {
			if res, err := p.s.Log.Commit(p.ctx); err != nil || len(res) != 0 {
				p.failf("a call without requests: %d results, error %v", len(res), err)
			}
		}},
		Case{Name: "fate/many", Quote: ruleFate, run: func(p *probe) {
			reqs := make([]store.Request, 200)
			for i := range reqs { // every id twice
				reqs[i] = p.birth(event.ExecutionID(fmt.Sprintf("many-%d", i/2)))
			}
			for i, r := range p.commitAll(reqs...) {
				if won := i%2 == 0; won != (r.Outcome == store.Committed) {
					p.failf("request %d of 200: %s", i, say(r))
				}
			}
		}},
		Case{Name: "fate/whole", Quote: ruleWhole, Parts: mailing, run: whole}, // case 15
		Case{Name: "fate/ctx-over", Quote: ruleNothing, run: func(p *probe) {
			ctx, cancel := p.over()
			defer cancel()
			res, err := p.s.Log.Commit(ctx, p.birth("e"))
			if err == nil || res != nil {
				p.failf("Commit with a ctx that is over: %d results, error %v", len(res), err)
			}
			p.note("e")
			if tip := p.tip("e"); tip.Exists() {
				p.failf("it was attempted all the same: %+v", tip)
			}
		}},
	)
}

// innocents puts one request of every fate into one call.
func innocents(p *probe) {
	p.node("n1")
	p.node("n2")
	p.lease("gone", time.Second)
	p.advance(2 * time.Second)
	var reqs []store.Request
	var want []string
	add := func(fate string, req store.Request) { reqs, want = append(reqs, req), append(want, fate) }
	live := func(id event.ExecutionID) store.Result { return p.must(p.birthFor(id, "n1")) }

	res := live("duplicate")
	p.must(p.step("duplicate", res))
	stale := live("stale")
	p.must(p.take("stale", stale, "n2", store.AnyOwner))
	stranger := p.step("stranger", live("stranger"))
	stranger.As = "n2"
	gap := p.step("gap", live("gap"))
	gap.Expect.Head++
	gap.Events = events("gap", gap.Expect.Head+1, 1)
	resent := p.step("resent", live("resent"))
	p.must(resent)
	mail := p.end("mail", live("mail"))
	p.post("mail", "m1")
	moved := p.step("anchor", live("anchor"))
	moved.Expect.Anchor = "0"
	broken := p.step("broken", live("broken"))
	broken.Nonce = store.Nonce{}

	add("committed", p.birth("fresh-1"))
	add("refused (moved)", p.step("duplicate", res))
	add("committed", p.step("live-1", live("live-1")))
	add("refused (stale-fence)", p.step("stale", stale))
	add("refused (owner)", stranger)
	add("refused (moved)", gap)
	add("committed", p.birthFor("fresh-2", "n2"))
	add("committed, again", resent)
	add("refused (mail-pending)", mail)
	add("refused (anchor)", moved)
	add("refused (absent)", p.step("absent", res))
	add("refused (lease)", p.birthFor("leaseless", "gone"))
	add("refused (invalid)", broken)
	add("committed", p.end("live-2", live("live-2")))
	for i, r := range p.commitAll(reqs...) {
		r.Err = nil
		if got := say(r); got != want[i] && got != want[i]+" <nil>" {
			p.failf("request %d, for %s: %s, want %s", i, reqs[i].Execution, got, want[i])
		}
	}
	for _, id := range []event.ExecutionID{"absent", "leaseless"} {
		if tip := p.tip(id); tip.Exists() {
			p.failf("%s was refused and exists", id)
		}
	}
}

// whole commits and refuses a request that does everything at once.
func whole(p *probe) {
	p.node("n1")
	p.must(p.birth("parent"))
	res := p.must(p.birthFor("child", "n1"))
	p.post("child", "m1")
	req := p.end("child", res)
	req.Seen, req.Consume = 1, []int64{1}
	req.Post = []store.Post{{To: "parent", Message: store.Message{ID: "child-end", Name: "child", Body: []byte("1")}}}
	wrong := req
	wrong.Nonce, wrong.As = p.nonce(), "n2"
	parent := p.see("parent")
	p.refused(wrong, store.RefusedOwner)
	p.unchanged(parent, "a post in a refused request")

	p.must(req)
	if ms, _ := p.pending("child"); len(ms) != 0 {
		p.failf("a consumed message is still pending: %+v", ms)
	}
	if ms, mail := p.pending("parent"); len(ms) != 1 || mail != 1 || ms[0].ID != "child-end" || ms[0].N != 1 {
		p.failf("the parent has %d messages, counter %d", len(ms), mail)
	}
	if h := p.head("child"); h.State != store.StateCompleted || h.Tip.Head != 1 {
		p.failf("the child is %s with head %d", h.State, h.Tip.Head)
	}
	p.again(req) // and posts nothing again
	if ms, mail := p.pending("parent"); len(ms) != 1 || mail != 1 {
		p.failf("resending posted again: %d messages, counter %d", len(ms), mail)
	}
}
