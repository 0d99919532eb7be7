package storetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	rulePublish = "Published: each key of Publish MUST get its value in the place of the one before, or be gone; every other key MUST " +
		"keep its value, whatever else the commit does."
	rulePublishStart = "A start MUST show what it publishes itself and nothing of an earlier execution of its id."
	rulePublishedAll = "Published must all be shown with these values."
)

// show makes publications of pairs in the order of their keys.
func show(pairs map[string]string) (out []store.Publication) {
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		out = append(out, store.Publication{Key: key, Value: pairs[key]})
	}
	return out
}

// publish returns a request of one event that publishes.
func (p *probe) publish(id event.ExecutionID, res store.Result, news ...store.Publication) store.Request {
	req := p.step(id, res)
	req.Publish = news
	return req
}

// shows checks what a head row shows, by itself and by searches for each pair.
func (p *probe) shows(id event.ExecutionID, want map[string]string) {
	if got := p.head(id).Published; !maps.Equal(got, want) {
		p.failf("%s shows %q, want %q", id, got, want)
	}
	for key, value := range want { // order does not matter: each is asked alone
		p.lists(store.Query{Published: map[string]string{key: value}, Prefix: string(id)}, id)
	}
}

// hides checks that a pair is not found.
func (p *probe) hides(key, value string) {
	p.lists(store.Query{Published: map[string]string{key: value}})
}

func publishCases() []Case {
	return slices.Concat(
		needs(indexed,
			Case{Name: "publish/replaces", Quote: rulePublish, run: published},
			Case{Name: "publish/start", Quote: rulePublishStart, run: func(p *probe) {
				req := p.birth("s")
				req.Index.Labels = map[string]string{"stage": "label"}
				req.Publish = show(map[string]string{"stage": "new"})
				p.must(req)
				p.shows("s", map[string]string{"stage": "new"})
				p.must(p.birth("t"))
				p.shows("t", nil)
				if got := p.head("s").Index.Labels; !maps.Equal(got, map[string]string{"stage": "label"}) {
					p.failf("what is published changed the labels to %q", got)
				}
				p.lists(store.Query{Labels: map[string]string{"stage": "label"}, Published: map[string]string{"stage": "new"}}, "s")
				p.lists(store.Query{Labels: map[string]string{"stage": "new"}})
				p.hides("stage", "label")
			}},
			Case{Name: "publish/refused", Quote: rulePublish, run: func(p *probe) {
				p.node("n1")
				p.node("n2")
				old := p.must(p.publish("s", p.must(p.birthFor("s", "n1")), show(map[string]string{"a": "1"})...))
				res := p.must(p.take("s", old, "n2", store.AnyOwner))
				news := []store.Publication{{Key: "a", Value: "2"}, {Key: "b", Value: "1"}}
				p.refused(p.publish("s", old, news...), store.RefusedFence)
				late := p.publish("s", res, news...)
				late.As = "n1"
				p.refused(late, store.RefusedOwner)
				behind := p.publish("s", res, store.Publication{Key: "a", Gone: true})
				behind.Expect.Mark[0]++
				p.refused(behind, store.RefusedHead)
				start := p.birth("s")
				start.Publish = news
				p.refused(start, store.RefusedFence)
				p.must(p.step("s", res)) // nothing of what was refused comes with the next one
				p.shows("s", map[string]string{"a": "1"})
				p.hides("a", "2")
				p.hides("b", "1")
			}},
			Case{Name: "publish/resent", Quote: rulePublish, run: func(p *probe) {
				first := p.publish("s", p.must(p.birth("s")), show(map[string]string{"a": "1", "b": "1"})...)
				res := p.must(first)
				p.again(first)
				second := p.publish("s", res, store.Publication{Key: "a", Value: "2"}, store.Publication{Key: "b", Gone: true})
				p.must(second)
				p.again(second)
				p.refused(first, store.RefusedHead) // no longer known, and no longer shown
				p.shows("s", map[string]string{"a": "2"})
			}},
			Case{Name: "publish/two-in-one-call", Quote: rulePublish, run: func(p *probe) {
				res := p.must(p.birth("s"))
				one := p.publish("s", res, show(map[string]string{"a": "1", "b": "1"})...)
				one.Expect.Mark = store.Nonce{}
				two := one
				two.Nonce, two.Expect.Head, two.Events = p.nonce(), one.Expect.Head+1, events("s", one.Expect.Head+2, 1)
				two.Publish = []store.Publication{{Key: "b", Gone: true}, {Key: "c", Value: "1"}}
				zombie := p.publish("s", res, show(map[string]string{"a": "zombie"})...)
				for i, r := range p.commitAll(one, two, zombie) {
					if (r.Outcome == store.Committed) != (i < 2) {
						p.failf("request %d of one call: %s", i, say(r))
					}
				}
				p.shows("s", map[string]string{"a": "1", "c": "1"})
				p.hides("b", "1")
			}},
			Case{Name: "list/published", Quote: rulePublishedAll, run: listPublished},
		),
		needs(mailing, Case{Name: "publish/kept", Quote: rulePublish, run: publishedKept}),
		needs(append(mailing, store.PartDeleter),
			Case{Name: "publish/not-inherited", Quote: rulePublishStart, run: func(p *probe) {
				for i, want := range []map[string]string{{"a": "1", "b": "1"}, {"b": "2"}, nil, {"a": "3"}} {
					req := p.birth("d")
					req.Events[0].Time += event.Time(i)
					req.Publish = show(want)
					res := p.must(req)
					p.shows("d", want)
					p.remove("d", p.deleting("d", res).Tip)
					for key, value := range want { // order does not matter: each is asked alone
						p.hides(key, value)
					}
				}
			}}),
	)
}

// published goes through what a key can become.
func published(p *probe) {
	res := p.must(p.birth("s"))
	many := map[string]string{}
	for i := range 64 {
		many[fmt.Sprint("k", i)] = fmt.Sprint("v", i)
	}
	gone := func(keys ...string) (out []store.Publication) {
		for _, key := range keys {
			out = append(out, store.Publication{Key: key, Value: "not looked at", Gone: true})
		}
		return out
	}
	for _, step := range []struct {
		news []store.Publication
		want map[string]string
	}{
		{nil, nil},
		{gone("never"), nil},
		{show(map[string]string{"a": "1", "b": "1"}), map[string]string{"a": "1", "b": "1"}},
		{show(map[string]string{"a": "1"}), map[string]string{"a": "1", "b": "1"}},
		{show(map[string]string{"a": "2", "c": ""}), map[string]string{"a": "2", "b": "1", "c": ""}},
		{gone("b", "never"), map[string]string{"a": "2", "c": ""}},
		{nil, map[string]string{"a": "2", "c": ""}},
		{slices.Concat(gone("a"), show(map[string]string{"a": "3"}), gone("c")), map[string]string{"a": "3"}},
		{slices.Concat(show(map[string]string{"a": "4", "d": "1"}), gone("a", "d"), show(map[string]string{"d": "2"})), map[string]string{"d": "2"}},
		{[]store.Publication{{Key: "d", Value: "3"}, {Key: "d", Value: "2"}}, map[string]string{"d": "2"}},
		{show(map[string]string{"a'b\"%_": "ü\n\\", "A": "\x00nul\x00", "d": "D"}), map[string]string{"a'b\"%_": "ü\n\\", "A": "\x00nul\x00", "d": "D"}},
		{gone("d", "A", "a'b\"%_"), nil},
		{show(many), many},
		{show(map[string]string{"k0": "new"}), func() map[string]string { m := maps.Clone(many); m["k0"] = "new"; return m }()},
	} {
		res = p.must(p.publish("s", res, step.news...))
		p.shows("s", step.want)
	}
	for _, pair := range [][2]string{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"a", "4"}, {"b", "1"}, {"c", ""}, {"d", "1"}, {"d", "2"}, {"d", "D"}, {"A", "\x00nul\x00"}, {"k0", "v0"}} {
		p.hides(pair[0], pair[1])
	}
	act := p.act("s", res) // without an event
	act.Publish = show(map[string]string{"k0": "bare"})
	p.must(act)
	p.lists(store.Query{Published: map[string]string{"k0": "bare"}}, "s")
}

// publishedKept takes an execution through everything that can be done to it.
func publishedKept(p *probe) {
	p.node("n1")
	p.node("n2")
	pairs := map[string]string{"stage": "paid", "round": "3"}
	res := p.must(p.publish("s", p.must(p.birthFor("s", "n1")), show(pairs)...))
	p.shows("s", pairs)
	check := func(r store.Result) store.Result {
		p.shows("s", pairs)
		return r
	}
	p.post("s", "m1")
	res.Mail = 1
	consume := p.step("s", res)
	consume.Consume = []int64{1}
	res = check(p.must(consume))
	res = check(p.must(p.take("s", res, "n2", store.AnyOwner)))
	park := p.step("s", res)
	park.Release = &store.Release{WakeAt: res.Now.Add(1e15)}
	res = check(p.must(park))
	p.post("s", "m2")
	res.Mail = 2
	p.shows("s", pairs)
	res = check(p.must(p.take("s", res, "n1", store.Unowned)))
	if hs, err := p.s.Index.Owned(p.ctx, "n1", false); err != nil || len(hs) != 1 || !maps.Equal(hs[0].Published, pairs) {
		p.failf("Owned shows %+v, %v", hs, err)
	}
	res = check(p.must(p.end("s", res)))
	late := p.step("s", res)
	res = check(p.must(late))
	p.lists(store.Query{Published: pairs, States: []store.State{store.StateCompleted}}, "s")
	move := p.take("s", res, "", store.AtEnd)
	move.State = store.StateMoving
	check(p.must(move))
}

func listPublished(p *probe) {
	p.node("n1")
	with := func(id event.ExecutionID, labels, pairs map[string]string) {
		req := p.birth(id)
		req.Index.Labels, req.Publish = labels, show(pairs)
		p.must(req)
	}
	with("none", map[string]string{"x": "1"}, nil)
	with("x1", nil, map[string]string{"x": "1"})
	with("x1y2", map[string]string{"l": "1"}, map[string]string{"x": "1", "y": "2"})
	with("x2", nil, map[string]string{"x": "2", "empty": ""})
	with("ended", map[string]string{"l": "1"}, map[string]string{"x": "1"})
	p.must(p.end("ended", store.Result{Tip: p.tip("ended")}))
	one := map[string]string{"x": "1"}
	p.lists(store.Query{Published: one}, "ended", "x1y2", "x1")
	p.lists(store.Query{Published: map[string]string{"x": "1", "y": "2"}}, "x1y2")
	p.lists(store.Query{Published: map[string]string{"x": "1", "y": "1"}})
	p.lists(store.Query{Published: map[string]string{"X": "1"}})
	p.lists(store.Query{Published: map[string]string{"empty": ""}}, "x2") // a value that is empty is not a missing one
	p.lists(store.Query{Published: map[string]string{"y": ""}})
	p.lists(store.Query{Published: one, Labels: map[string]string{"l": "1"}}, "ended", "x1y2")
	p.lists(store.Query{Labels: one}, "none")
	p.lists(store.Query{Published: one, States: []store.State{store.StateRunning}}, "x1y2", "x1")
	p.lists(store.Query{Published: one, States: []store.State{store.StateCompleted, store.StateFailed}}, "ended")
	p.lists(store.Query{Published: one, Flow: flow, Prefix: "x"}, "x1y2", "x1")
	p.lists(store.Query{Published: one, Flow: "other"})
	p.lists(store.Query{Published: one, Limit: 1}, "ended", "x1y2", "x1")
}
