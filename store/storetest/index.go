package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleOwned = "Owned returns the running executions of a node; with mailOnly those that have mail beyond what their owner has seen."
	ruleList  = "List returns head rows, newest creation first, at most q.Limit of them."
	rulePages = "next continues after the last one; it is \"\" at the end."
	ruleAll   = "Query selects head rows. Zero fields select all."
)

// over returns a context that is over.
func (p *probe) over() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	return ctx, cancel
}

// owns checks what the running executions of a node are, in any order.
func (p *probe) owns(node store.NodeID, mailOnly bool, ids ...event.ExecutionID) {
	hs, err := p.s.Index.Owned(p.ctx, node, mailOnly)
	if err != nil {
		p.fatalf("Owned(%s): %v", node, err)
	}
	var got []event.ExecutionID
	for _, h := range hs {
		if h.Owner != node || h.State != store.StateRunning {
			p.failf("Owned(%s) gives %s of %q, %s", node, h.Execution, h.Owner, h.State)
		}
		got = append(got, h.Execution)
	}
	slices.Sort(got)
	if !slices.Equal(got, slices.Sorted(slices.Values(ids))) {
		p.failf("Owned(%s, mail only: %v) is %q, want %q", node, mailOnly, got, ids)
	}
}

// list returns all pages of a query.
func (p *probe) list(q store.Query) []store.Head {
	var all []store.Head
	for page := 0; ; page++ {
		hs, next, err := p.s.Index.List(p.ctx, q)
		if err != nil {
			p.fatalf("List(%+v): %v", q, err)
		}
		if limit := q.Limit; limit > 0 && len(hs) > limit {
			p.failf("List(%+v) gives %d rows", q, len(hs))
		}
		all = append(all, hs...)
		if next == "" {
			return all
		}
		if next == q.After || page > 10_000 {
			p.fatalf("List(%+v) does not come to an end", q)
		}
		q.After = next
	}
}

// lists checks which executions a query selects, in order.
func (p *probe) lists(q store.Query, ids ...event.ExecutionID) {
	var got []event.ExecutionID
	for _, h := range p.list(q) {
		got = append(got, h.Execution)
	}
	if !slices.Equal(got, ids) {
		p.failf("List(%+v) is %q, want %q", q, got, ids)
	}
}

func ownedCases() []Case {
	return needs(mailing,
		Case{Name: "owned/all", Quote: ruleOwned, run: func(p *probe) {
			p.node("n1")
			p.node("n2")
			a := p.must(p.birthFor("a", "n1"))
			p.must(p.birthFor("b", "n1"))
			p.must(p.birthFor("c", "n2"))
			p.must(p.birth("d"))
			p.owns("n1", false, "a", "b")
			p.owns("n2", false, "c")
			p.owns("n3", false)
			park := p.act("a", a)
			park.Release = &store.Release{}
			parked := p.must(park)
			p.owns("n1", false, "b")
			p.must(p.take("a", parked, "n2", store.Unowned))
			p.owns("n2", false, "a", "c")
			b := p.take("b", store.Result{Tip: p.tip("b")}, "n1", store.Mine)
			p.must(p.end("b", p.must(b)))
			p.owns("n1", false)
		}},
		Case{Name: "owned/with-mail", Quote: ruleOwned, run: func(p *probe) {
			p.node("n1")
			a := p.must(p.birthFor("a", "n1"))
			p.must(p.birthFor("b", "n1"))
			p.owns("n1", true)
			p.post("a", "m1")
			p.owns("n1", true, "a")
			look := p.act("a", a)
			look.Seen = 1 // looked at, not consumed
			a = p.must(look)
			p.owns("n1", true)
			p.post("a", "m2")
			p.owns("n1", true, "a")
			p.owns("n1", false, "a", "b")
			p.node("n2")
			p.must(p.take("a", store.Result{Tip: a.Tip, Mail: 1}, "n2", store.AnyOwner))
			p.owns("n1", true)
			p.owns("n2", true, "a")
		}},
	)
}

func listCases() []Case {
	return needs(indexed,
		Case{Name: "list/newest-first", Quote: ruleList, run: func(p *probe) { // claim A-44
			for _, id := range []event.ExecutionID{"b", "c", "a"} {
				p.must(p.birth(id))
			}
			p.must(p.step("b", store.Result{Tip: p.tip("b")})) // no newer creation
			p.lists(store.Query{}, "a", "c", "b")
		}},
		Case{Name: "list/pages", Quote: rulePages, run: func(p *probe) {
			var ids []event.ExecutionID
			for i := range 23 {
				id := event.ExecutionID(fmt.Sprintf("e-%02d", i))
				p.must(p.birth(id))
				ids = slices.Insert(ids, 0, id)
			}
			for _, limit := range []int{0, 1, 7, 23, 24, 5000} {
				p.lists(store.Query{Limit: limit}, ids...)
			}
			hs, next, err := p.s.Index.List(p.ctx, store.Query{Limit: 5})
			if err != nil || len(hs) != 5 || next == "" {
				p.fatalf("the first page: %d rows, next %q, error %v", len(hs), next, err)
			}
			p.must(p.birth("newer")) // does not move the place
			p.lists(store.Query{Limit: 5, After: next}, ids[5:]...)
		}},
		Case{Name: "list/limits", Quote: "Limit is the most rows, 0 for 100, at most 1000.", run: func(p *probe) {
			var reqs []store.Request
			for i := range 1005 {
				reqs = append(reqs, p.birth(event.ExecutionID(fmt.Sprintf("e-%d", i))))
			}
			for _, r := range p.commitAll(reqs...) {
				if r.Outcome != store.Committed {
					p.fatalf("a start: %s", say(r))
				}
			}
			p.ids = nil // the walk finds them
			for _, c := range [][2]int{{0, 100}, {3, 3}, {1000, 1000}, {4000, 1000}} {
				limit, want := c[0], c[1]
				if hs, next, err := p.s.Index.List(p.ctx, store.Query{Limit: limit}); err != nil || len(hs) != want || next == "" {
					p.failf("limit %d gives %d rows (want %d), next %q, error %v", limit, len(hs), want, next, err)
				}
			}
		}},
		Case{Name: "list/flow-and-state", Quote: ruleAll, run: func(p *probe) {
			p.node("n1")
			p.parked("a", "flow-a", 0)
			p.parked("b", "flow-b", 0)
			p.must(p.end("c", p.must(p.birthFor("c", "n1"))))
			p.must(p.shut("d", p.must(p.birth("d")), store.StateMoving))
			p.lists(store.Query{}, "d", "c", "b", "a")
			p.lists(store.Query{Flow: "flow-a"}, "a")
			p.lists(store.Query{States: []store.State{store.StateCompleted}}, "c")
			p.lists(store.Query{States: []store.State{store.StateMoving, store.StateRunning}}, "d", "b", "a")
			p.lists(store.Query{Flow: "flow-b", States: []store.State{store.StateCompleted}})
		}},
		Case{Name: "list/labels", Quote: "Labels must all be there with these values.", run: func(p *probe) {
			with := func(id event.ExecutionID, labels map[string]string) {
				req := p.birth(id)
				req.Index.Labels = labels
				p.must(req)
			}
			with("none", nil)
			with("x1", map[string]string{"x": "1"})
			with("x1y2", map[string]string{"x": "1", "y": "2"})
			with("x2", map[string]string{"x": "2", "empty": ""})
			with("odd", map[string]string{"a'b\"%_": "ü\n\\"})
			p.lists(store.Query{Labels: map[string]string{"x": "1"}}, "x1y2", "x1")
			p.lists(store.Query{Labels: map[string]string{"x": "1", "y": "2"}}, "x1y2")
			p.lists(store.Query{Labels: map[string]string{"x": "1", "y": "1"}})
			p.lists(store.Query{Labels: map[string]string{"X": "1"}})
			p.lists(store.Query{Labels: map[string]string{"empty": ""}}, "x2") // a label without a value is not a missing one
			p.lists(store.Query{Labels: map[string]string{"a'b\"%_": "ü\n\\"}}, "odd")
			p.lists(store.Query{Labels: map[string]string{"x": "1"}, Limit: 1}, "x1y2", "x1")
		}},
		Case{Name: "list/prefix", Quote: "Prefix is the beginning of the id.", run: func(p *probe) { // claim H-24
			for _, id := range []event.ExecutionID{"a_1", "ab1", "A_1", "a_", "a", "b/a_1"} {
				p.must(p.birth(id))
			}
			p.lists(store.Query{Prefix: "a_"}, "a_", "a_1")
			p.lists(store.Query{Prefix: "a"}, "a", "a_", "ab1", "a_1")
			p.lists(store.Query{Prefix: "A"}, "A_1")
			p.lists(store.Query{Prefix: "b/"}, "b/a_1")
			p.lists(store.Query{Prefix: "a_%"})
			p.lists(store.Query{Prefix: "zz"})
		}},
	)
}
