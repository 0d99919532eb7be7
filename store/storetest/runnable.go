package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleRunnable = "Runnable returns executions that a node may claim now, at most d.Limit: in state running, of one of d.Flows, with " +
		"fewer than MaxStrikes strikes, and"
	ruleDue  = "- unowned and with a wake-up at or before the store's clock, earliest first; or"
	ruleOver = "- owned by a node whose lease is over, and not before 2^strikes seconds (0 for no strikes) after the row's last change."
	ruleNext = "next is the earliest wake-up among the unowned of these flows with fewer than MaxStrikes strikes that are not due yet, " +
		"event.Never if there is none; now is the store's clock."
	ruleVersions = "An execution MUST NOT be returned for a flow of its name in another version than its own; no version is a version " +
		"like any other."
	ruleStrikes = "Strikes: a committed claim under Lapsed MUST add one to the row's strikes; a commit with events that claims nothing " +
		"MUST set them to 0."
)

// runnable asks for at most limit runnable executions of flows, each "flow" or
// "flow@version".
func (p *probe) runnable(limit int, flows ...string) (ids []event.ExecutionID, next, now event.Time) {
	var d []store.FlowVersion
	for _, f := range flows {
		d = append(d, flowVersion(f))
	}
	hs, next, now, err := p.s.Index.Runnable(p.ctx, store.Demand{Flows: d, Limit: limit})
	if err != nil {
		p.fatalf("Runnable: %v", err)
	}
	for _, h := range hs {
		ids = append(ids, h.Execution)
	}
	return ids, next, now
}

// flowVersion reads "flow" or "flow@version".
func flowVersion(text string) (f store.FlowVersion) {
	f.Flow, f.Version, _ = strings.Cut(text, "@")
	return f
}

// wants checks that exactly these executions are runnable, in any order.
func (p *probe) wants(ids ...event.ExecutionID) {
	got, _, _ := p.runnable(1000, flow)
	slices.Sort(got)
	if !slices.Equal(got, slices.Sorted(slices.Values(ids))) {
		p.failf("runnable are %q, want %q", got, ids)
	}
}

// parked makes an unowned execution of a flow, "flow" or "flow@version", that wakes at a
// time.
func (p *probe) parked(id event.ExecutionID, flow string, wake event.Time) store.Result {
	req := p.birth(id)
	f := flowVersion(flow)
	req.Index.Flow, req.Index.Version, req.Release = f.Flow, f.Version, &store.Release{WakeAt: wake}
	return p.must(req)
}

func runnableCases() []Case {
	return needs(indexed,
		Case{Name: "runnable/due", Quote: ruleDue, run: func(p *probe) {
			now := p.parked("r0", flow, 0).Now
			p.parked("never", flow, event.Never)
			p.parked("r3", flow, now.Add(30*time.Second))
			p.parked("r1", flow, now.Add(-time.Hour))
			p.parked("r2", flow, now.Add(-time.Minute))
			if got, _, _ := p.runnable(10, flow); !slices.Equal(got, []event.ExecutionID{"r0", "r1", "r2"}) {
				p.failf("runnable are %q, want r0, r1, r2", got)
			}
			if got, _, _ := p.runnable(2, flow); !slices.Equal(got, []event.ExecutionID{"r0", "r1"}) {
				p.failf("the first two are %q, want r0, r1", got)
			}
			if p.bench.Advance == nil {
				return // not worth half a minute
			}
			p.advance(30 * time.Second)
			if got, _, _ := p.runnable(10, flow); !slices.Equal(got, []event.ExecutionID{"r0", "r1", "r2", "r3"}) {
				p.failf("at the instant of a wake-up runnable are %q, want r0 to r3", got)
			}
		}},
		Case{Name: "runnable/not-early", Quote: ruleDue, run: func(p *probe) { // claim H-23, race 27
			now := p.lease("n1", time.Second).Now
			p.parked("r", flow, now.Add(2*time.Second))
			p.wants()
			p.advance(2*time.Second + time.Millisecond)
			p.wants("r")
		}},
		Case{Name: "runnable/flows", Quote: ruleRunnable, run: func(p *probe) {
			p.parked("a", "flow-a", 0)
			p.parked("b", "flow-b", 0)
			p.parked("c", "flow-c", 0)
			for _, c := range []struct{ flows, want []string }{
				{nil, nil}, {[]string{"unknown"}, nil}, {[]string{"flow-b"}, []string{"b"}},
				{[]string{"flow-c", "flow-a"}, []string{"a", "c"}}, {[]string{"flow-a", "flow-a"}, []string{"a"}},
			} {
				got, _, _ := p.runnable(10, c.flows...)
				slices.Sort(got)
				if !slices.EqualFunc(got, c.want, func(id event.ExecutionID, s string) bool { return string(id) == s }) {
					p.failf("of the flows %q runnable are %q, want %q", c.flows, got, c.want)
				}
			}
		}},
		Case{Name: "runnable/versions", Quote: ruleVersions, run: versions}, // claim H-02, case 26
		Case{Name: "runnable/next", Quote: ruleNext, run: func(p *probe) {
			if _, next, _ := p.runnable(10, flow); next != event.Never {
				p.failf("next is %d in an empty store, want never", next)
			}
			now := p.parked("due-1", flow, 0).Now
			p.parked("due-2", flow, 0)
			p.parked("never", flow, event.Never)
			p.parked("foreign", "another flow", now.Add(time.Hour))
			if _, next, _ := p.runnable(10, flow); next != event.Never {
				p.failf("next is %d with nothing left to come, want never", next)
			}
			p.parked("late", flow, now.Add(3*time.Hour))
			p.parked("soon", flow, now.Add(2*time.Hour))
			for _, limit := range []int{1, 10} {
				if ids, next, at := p.runnable(limit, flow); next != now.Add(2*time.Hour) || at < now || len(ids) != min(limit, 2) {
					p.failf("limit %d: %q, next %d (want %d), now %d", limit, ids, next, now.Add(2*time.Hour), at)
				}
			}
		}},
		Case{Name: "runnable/lapsed", Quote: ruleOver, run: func(p *probe) { // race 28
			p.lease("n1", time.Second)
			p.node("n2")
			p.must(p.birthFor("mine", "n1"))
			p.must(p.birthFor("other", "n2"))
			p.wants()
			p.advance(1500 * time.Millisecond)
			p.wants("mine")
			p.node("n1") // back in time
			p.wants()
		}},
		Case{Name: "runnable/left", Quote: ruleOver, run: func(p *probe) {
			p.node("n1")
			p.must(p.birthFor("mine", "n1"))
			for range 2 { // twice is no error
				if err := p.s.Leaser.Leave(p.ctx, "n1"); err != nil {
					p.fatalf("leave: %v", err)
				}
			}
			p.wants("mine")
		}},
		Case{Name: "runnable/claimed-is-gone", Quote: ruleRunnable, run: func(p *probe) { // claim H-34
			p.node("n1")
			res := p.parked("r", flow, 0)
			p.wants("r")
			res = p.must(p.take("r", res, "n1", store.Unowned))
			p.wants()
			p.must(p.end("r", res))
			p.wants()
		}},
	)
}

// versions has a due, a lapsed and a later execution of each of three versions.
func versions(p *probe) {
	all := []string{"f", "f@1", "f@2"}
	p.lease("n1", time.Second)
	var now event.Time
	for i, f := range all {
		id := event.ExecutionID("v" + string(rune('0'+i)))
		p.parked(id+"-due", f, 0)
		now = p.parked(id+"-later", f, event.Never).Now
		req := p.birthFor(id+"-lapsed", "n1")
		of := flowVersion(f)
		req.Index.Flow, req.Index.Version = of.Flow, of.Version
		p.must(req)
	}
	p.advance(1500 * time.Millisecond)
	for i, f := range all {
		p.parked(event.ExecutionID("w"+string(rune('0'+i))), f, now.Add(time.Duration(i+1)*time.Hour))
	}
	for _, c := range []struct {
		asked []string
		want  []event.ExecutionID
		next  int // hours
	}{
		{all[:1], []event.ExecutionID{"v0-due", "v0-lapsed"}, 1},
		{all[1:2], []event.ExecutionID{"v1-due", "v1-lapsed"}, 2},
		{[]string{"f@2", "f@1", "f@2"}, []event.ExecutionID{"v1-due", "v1-lapsed", "v2-due", "v2-lapsed"}, 2},
		{[]string{"f@3", "g", "g@1"}, nil, 0},
	} {
		got, next, _ := p.runnable(100, c.asked...)
		slices.Sort(got)
		want := event.Never
		if c.next > 0 {
			want = now.Add(time.Duration(c.next) * time.Hour)
		}
		if !slices.Equal(got, c.want) || next != want {
			p.failf("of %q runnable are %q, want %q; next is %d, want %d", c.asked, got, c.want, next, want)
		}
	}
}

func strikeCases() []Case {
	return needs(indexed,
		Case{Name: "strikes/count", Quote: ruleStrikes, run: strikes},
		Case{Name: "strikes/back-off", Quote: ruleOver, run: func(p *probe) {
			p.struck("s", 1)
			p.advance(500 * time.Millisecond) // the lease is over, a second has not passed since the claim
			p.wants()
			p.advance(1700 * time.Millisecond)
			p.wants("s")
		}},
		Case{Name: "strikes/stuck", Quote: "MaxStrikes is how often in a row an execution may lose its owner without progress before " +
			"only an operator can claim it.", run: func(p *probe) {
			res := p.struck("s", store.MaxStrikes)
			if p.bench.Advance != nil {
				p.advance(24 * time.Hour)
			}
			p.wants()
			p.node("op")
			p.must(p.take("s", res, "op", store.AnyOwner))
		}},
	)
}

// struck makes an execution that has lost its owner n times, the last time just
// now; its owner's lease is about to end.
func (p *probe) struck(id event.ExecutionID, n int) store.Result {
	const ttl = 400 * time.Millisecond
	node := func(i int) store.NodeID { return store.NodeID("node-" + string(rune('a'+i))) }
	p.lease(node(0), ttl)
	res := p.must(p.birthFor(id, node(0)))
	for i := range n {
		p.advance(ttl + ttl/4)
		p.lease(node(i+1), ttl)
		res = p.must(p.take(id, res, node(i+1), store.Lapsed))
		if h := p.head(id); h.Strikes != i+1 {
			p.failf("after %d takeovers: %d strikes", i+1, h.Strikes)
		}
	}
	return res
}

func strikes(p *probe) {
	is := func(want int, after string) {
		if h := p.head("s"); h.Strikes != want {
			p.failf("after %s: %d strikes, want %d", after, h.Strikes, want)
		}
	}
	res := p.struck("s", 2)
	res = p.must(p.act("s", res))
	is(2, "an act without events")
	req := p.take("s", res, res.Owner, store.Mine)
	p.lease(res.Owner, time.Hour)
	req.Events = events("s", res.Tip.Head+1, 1)
	res = p.must(req)
	is(2, "a claim with events")
	res = p.must(p.step("s", res))
	is(0, "a commit with events")
	if err := p.s.Leaser.Leave(p.ctx, res.Owner); err != nil {
		p.fatalf("leave: %v", err)
	}
	p.node("n9")
	req = p.take("s", res, "n9", store.Lapsed)
	req.Events = events("s", res.Tip.Head+1, 1)
	res = p.must(req)
	is(1, "a takeover with events")
	park := p.step("s", res)
	park.Release = &store.Release{}
	res = p.must(park)
	is(0, "a park with an event")
	p.must(p.take("s", res, "n9", store.Unowned))
	is(0, "a claim of what nobody owned")
}
