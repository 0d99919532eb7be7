package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleStrong = "With r.Strong the read MUST show every commit acknowledged before the call, by any process."
	ruleHint   = "Await returns when another process may have written since the version that an earlier call returned (0: return the " +
		"current one at once), or with ctx."
)

// second opens the case's store once more.
func (p *probe) second() Bench {
	b, err := p.bench.Reopen(p.ctx)
	if err != nil {
		p.fatalf("a second opening: %v", err)
	}
	return b
}

func (p *probe) shutBench(b Bench) {
	if b.Close == nil {
		return
	}
	if err := b.Close(); err != nil {
		p.failf("closing the second opening: %v", err)
	}
}

func processCases() []Case {
	cases := needs(mailing,
		Case{Name: "process/strong-reads", Quote: ruleStrong, run: func(p *probe) {
			b := p.second()
			defer p.shutBench(b)
			p.node("n1")
			res := p.must(p.birthFor("x", "n1"))
			for i := range 20 {
				res = p.must(p.step("x", res))
				n := 0
				for _, err := range b.Store.Log.Read(p.ctx, "x", store.Range{Strong: true}) {
					if err != nil {
						p.fatalf("read: %v", err)
					}
					n++
				}
				if n != i+2 {
					p.failf("the other process reads %d events, %d were acknowledged", n, i+2)
				}
				if tip, err := b.Store.Log.Tip(p.ctx, "x"); tip != res.Tip || err != nil {
					p.failf("the other process has the tip %+v (%v), want %+v", tip, err, res.Tip)
				}
			}
		}},
		Case{Name: "process/one-winner", Quote: ruleOneWinner, run: func(p *probe) { // case 3, race 13
			b := p.second()
			defer p.shutBench(b)
			for round := range 10 {
				id := event.ExecutionID(fmt.Sprintf("x-%d", round))
				reqs := []store.Request{p.birth(id), p.birth(id)}
				p.note(id)
				out := make([]store.Result, 2)
				all(2, func(i int) {
					l := p.s.Log
					if i == 1 {
						l = b.Store.Log
					}
					if res, err := l.Commit(p.ctx, reqs[i]); err == nil {
						out[i] = res[0]
					}
				})
				p.oneWins(out, store.RefusedHead)
			}
		}},
		Case{Name: "process/lives-on", Quote: ruleWhole, run: livesOn},
	)
	hint := needs([]store.Part{store.PartHints},
		Case{Name: "process/hint", Quote: ruleHint, run: func(p *probe) { // case 61
			b := p.second()
			defer p.shutBench(b)
			version, err := b.Store.Hints.Await(p.ctx, 0)
			if err != nil {
				p.fatalf("the current version: %v", err)
			}
			p.must(p.birth("x"))
			for round := range 3 { // it may come early, but has to come
				ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
				next, err := b.Store.Hints.Await(ctx, version)
				cancel()
				if err != nil || next == version {
					p.fatalf("after another process wrote: version %d (it was %d), error %v", next, version, err)
				}
				version = next
				p.must(p.birth(event.ExecutionID(fmt.Sprintf("y-%d", round))))
			}
		}})
	cases = append(cases, hint...)
	for i := range cases {
		cases[i].reopen = true
	}
	return cases
}

// livesOn closes the store and opens it again.
func livesOn(p *probe) {
	p.lease("n1", time.Hour)
	res := p.must(p.birthFor("owned", "n1"))
	p.parked("asleep", flow, res.Now.Add(time.Hour))
	p.post("owned", "m1")
	if p.s.Records != nil {
		p.put("r", 0, "one", true, 1, "one")
	}
	owned, asleep := p.see("owned"), p.see("asleep")
	b := p.second()
	p.close()
	p.use(b)
	p.unchanged(owned, "closing and opening")
	p.unchanged(asleep, "closing and opening")
	if p.s.Records != nil {
		p.put("r", 1, "two", true, 2, "two")
	}
	p.node("n1")
	res = p.must(p.step("owned", res)) // the row says who owns it, whatever happened to the process
	if fresh := p.must(p.birth("fresh")); fresh.Tip.Anchor == res.Tip.Anchor || fresh.Tip.Anchor == asleep.tip.Anchor {
		p.failf("after opening again an anchor is given a second time")
	}
	p.lists(store.Query{}, "fresh", "asleep", "owned")
}
