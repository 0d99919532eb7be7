package storetest

import (
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleRead = "Read yields the events of id in r, in sequence order, without gaps, each byte for byte as committed."
	ruleNone = "An execution that does not exist yields none."
	ruleTip  = "Head, token, anchor and mark MUST be those of one instant."
)

func readCases() []Case {
	return needs(owning,
		Case{Name: "read/ranges", Quote: ruleRead, run: func(p *probe) { // claim A-20
			req := p.birth("r")
			req.Events = events("r", 0, 10)
			p.must(req)
			for _, c := range []struct {
				r           store.Range
				first, last event.Seq
			}{
				{store.Range{}, 0, 9}, {store.Range{From: 0, Limit: 1}, 0, 0}, {store.Range{From: 3}, 3, 9},
				{store.Range{From: 3, Limit: 4}, 3, 6}, {store.Range{From: 9}, 9, 9}, {store.Range{From: 8, Limit: 100}, 8, 9},
				{store.Range{From: 10}, 0, -1}, {store.Range{From: 1 << 40}, 0, -1}, {store.Range{Strong: true}, 0, 9},
				{store.Range{From: 2, Limit: 3, Strong: true}, 2, 4},
			} {
				got := p.log("r", c.r)
				if want := req.Events[c.first : c.last+1]; !slices.EqualFunc(got, want, event.Envelope.Equal) {
					p.failf("Read(%+v) gives %d events, want %d to %d", c.r, len(got), c.first, c.last)
				}
			}
		}},
		Case{Name: "read/absent", Quote: ruleNone, run: func(p *probe) {
			if got := p.log("none", store.Range{}); len(got) != 0 {
				p.failf("%d events", len(got))
			}
			if tip := p.tip("none"); tip != store.Absent() {
				p.failf("the tip of what does not exist is %+v", tip)
			}
		}},
		Case{Name: "read/stopped", Quote: ruleRead, run: func(p *probe) {
			req := p.birth("r")
			req.Events = events("r", 0, 50)
			res := p.must(req)
			for range 20 { // what a reader leaves behind is not in the way
				for range p.s.Log.Read(p.ctx, "r", store.Range{}) {
					break
				}
			}
			seq := p.s.Log.Read(p.ctx, "r", store.Range{})
			p.must(p.step("r", res))
			for range 2 { // an iterator may be run again
				n := 0
				for range seq {
					n++
				}
				if n < 50 {
					p.failf("an iterator gives %d events", n)
				}
			}
		}},
		Case{Name: "read/neighbours", Quote: ruleRead, run: func(p *probe) { // ids of which one is the beginning of another
			for i, id := range []event.ExecutionID{"r", "r-1", "r-1-0", "r/1", "r@1", "R"} {
				req := p.birth(id)
				req.Events = events(id, 0, i+1)
				p.must(req)
			}
			for i, id := range []event.ExecutionID{"r", "r-1", "r-1-0", "r/1", "r@1", "R"} {
				if got := p.log(id, store.Range{}); len(got) != i+1 {
					p.failf("the log of %s has %d events, want %d", id, len(got), i+1)
				}
			}
		}},
		Case{Name: "read/ctx-over", Quote: "After an error the iteration ends.", run: func(p *probe) {
			p.must(p.birth("r"))
			ctx, cancel := p.over()
			defer cancel()
			n, errs := 0, 0
			for _, err := range p.s.Log.Read(ctx, "r", store.Range{}) {
				n++
				if err != nil {
					errs++
				}
			}
			if n != 1 || errs != 1 {
				p.failf("a read with a ctx that is over gives %d items, %d of them errors; want one error", n, errs)
			}
			if _, err := p.s.Log.Tip(ctx, "r"); err == nil {
				p.failf("Tip with a ctx that is over gives no error")
			}
		}},
	)
}
