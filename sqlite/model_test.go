//go:build unix

package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// TestModel does the same random acts to this store and to the one in memory,
// which is the specification made executable, and wants the same answers. A
// failure names its seed.
func TestModel(t *testing.T) {
	seeds, acts := 12, 250
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			opts, level := []Option(nil), store.Level23
			if seed%3 == 2 {
				opts, level = []Option{SchemaVersion(1)}, store.Level22
			}
			c := newClock()
			db := open(t, append(opts, WithClock(c.now), WithoutNodeLocks())...)
			m := &model{
				t: t, rng: rand.New(rand.NewPCG(uint64(seed), 1)), clock: c, db: db,
				disk: store.Of(db), memory: store.Of(memstore.New(&memstore.Options{Now: c.now, Level: level})),
				tips: map[event.ExecutionID][]store.Tip{}, mail: map[event.ExecutionID]int64{},
			}
			for range acts {
				m.act()
				if t.Failed() {
					return
				}
			}
			m.compareAll()
		})
	}
}

type model struct {
	t            *testing.T
	rng          *rand.Rand
	clock        *clock
	db           *DB
	disk, memory store.Store
	tips         map[event.ExecutionID][]store.Tip // seen, the last is the newest
	mail         map[event.ExecutionID]int64
	sent         []store.Request
}

var (
	modelIDs   = []event.ExecutionID{"a", "b", "ab", "abc", "c@2026", "d/1"}
	modelNodes = []store.NodeID{"n1", "n2", "n3"}
	modelFlows = []string{"f", "g", "h"}
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// same calls f on both stores and wants equal answers.
func (m *model) same(what string, f func(s store.Store) any) any {
	m.t.Helper()
	got, want := f(m.disk), f(m.memory)
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		m.t.Errorf("%s:\n disk   %s\n memory %s", what, g, w)
	}
	return got
}

func (m *model) act() {
	ctx := context.Background()
	r := m.rng
	id, node := pick(r, modelIDs...), pick(r, modelNodes...)
	switch n := r.IntN(100); {
	case n < 12:
		m.clock.advance(time.Duration(r.IntN(4000)) * time.Millisecond)
	case n < 22:
		d := time.Duration(1+r.IntN(5)) * time.Second
		m.same("renew", func(s store.Store) any {
			l, err := s.Leaser.Renew(ctx, node, d, []string{"f", "g"})
			return []any{l, err}
		})
	case n < 24:
		m.same("leave", func(s store.Store) any { return s.Leaser.Leave(ctx, node) })
	case n < 34:
		msg := store.Message{ID: fmt.Sprint("m", r.IntN(4)), Name: "x", Body: []byte{byte(n)}}
		m.same("post", func(s store.Store) any {
			got, err := s.Inbox.Post(ctx, id, msg)
			return []any{got, err}
		})
	case n < 40:
		tip := m.tip(id)
		m.same("delete", func(s store.Store) any {
			done, err := s.Deleter.Delete(ctx, id, tip)
			return []any{done, err != nil}
		})
	case n < 46 && len(m.sent) > 0:
		m.commit(pick(r, m.sent...)) // resent
	default:
		m.commit(m.request(id, node))
	}
	m.compare(id)
}

// tip is mostly the newest seen of id, sometimes an old one.
func (m *model) tip(id event.ExecutionID) store.Tip {
	seen := m.tips[id]
	switch {
	case len(seen) == 0:
		return store.Tip{Head: 0, Anchor: "1"}
	case m.rng.IntN(8) == 0:
		return pick(m.rng, seen...)
	}
	return seen[len(seen)-1]
}

func (m *model) request(id event.ExecutionID, node store.NodeID) store.Request {
	r := m.rng
	req := store.Request{Execution: id, Nonce: nonce()}
	if r.IntN(3) == 0 || len(m.tips[id]) == 0 {
		req.Expect = store.Absent()
		req.Index = &store.IndexEntry{Flow: pick(r, modelFlows...), Version: pick(r, "", "v2"), Parent: pick(r, "", event.ExecutionID("p"))}
		if r.IntN(2) == 0 {
			req.Index.Labels = map[string]string{"tenant": pick(r, "x", "y"), "color": pick(r, "red", "blue")}
		}
		if r.IntN(2) == 0 {
			req.Claim = &store.Claim{Owner: node, When: store.AnyOwner}
		}
	} else {
		req.Expect = m.tip(id)
		if h, ok, _ := m.memory.Index.Get(context.Background(), id); ok && r.IntN(6) > 0 {
			req.As = h.Owner
		}
		if r.IntN(3) == 0 {
			req.Claim = &store.Claim{Owner: pick(r, "", node, node), When: pick(r, store.Unowned, store.Lapsed, store.Mine, store.AtEnd, store.AnyOwner)}
		}
	}
	for range r.IntN(3) {
		req.Events = append(req.Events, ev(id, req.Expect.Head+1+event.Seq(len(req.Events)), fmt.Sprint(r.IntN(1000))))
	}
	if req.Index != nil && len(req.Events) == 0 {
		req.Events = []event.Envelope{ev(id, 0, "{}")}
	}
	if r.IntN(3) == 0 {
		req.Release = &store.Release{WakeAt: pick(r, 0, event.Never, m.clock.now().Add(time.Duration(r.IntN(5000))*time.Millisecond))}
	}
	if r.IntN(5) == 0 {
		req.State = pick(r, store.StateRunning, store.StateCompleted, store.StateFailed, store.StateForming, store.StateDeleting, store.StateMoving)
	}
	if r.IntN(3) == 0 {
		req.Seen = m.mail[id]
		if req.Seen > 0 {
			req.Consume = []int64{1 + r.Int64N(req.Seen)}
		}
	}
	if r.IntN(6) == 0 {
		req.Post = []store.Post{{To: pick(r, modelIDs...), Message: store.Message{ID: fmt.Sprint("p", r.IntN(4)), Name: "y"}}}
	}
	return req
}

func (m *model) commit(req store.Request) {
	got := m.same("commit", func(s store.Store) any {
		res, err := s.Log.Commit(context.Background(), req)
		if err != nil {
			m.t.Fatal(err)
		}
		return res[0]
	}).(store.Result)
	if got.Tip.Exists() {
		m.tips[req.Execution] = append(m.tips[req.Execution], got.Tip)
		m.mail[req.Execution] = got.Mail
	}
	if m.sent = append(m.sent, req); len(m.sent) > 20 {
		m.sent = m.sent[1:]
	}
}

// compare compares what can be read of id, and of the whole.
func (m *model) compare(id event.ExecutionID) {
	ctx := context.Background()
	m.same("get", func(s store.Store) any {
		h, ok, err := s.Index.Get(ctx, id)
		return []any{norm(h), ok, err}
	})
	m.same("tip", func(s store.Store) any {
		tip, err := s.Log.Tip(ctx, id)
		return []any{tip, err}
	})
	m.same("read", func(s store.Store) any {
		all := []event.Envelope{}
		for e, err := range s.Log.Read(ctx, id, store.Range{From: event.Seq(m.clock.now() % 3)}) {
			if err != nil {
				m.t.Fatal(err)
			}
			e.Meta = nil
			all = append(all, e)
		}
		return all
	})
	m.same("pending", func(s store.Store) any {
		ms, mail, err := s.Inbox.Pending(ctx, id, 0, 100)
		return []any{append([]store.Message{}, ms...), mail, err}
	})
	// Without a limit that bites, the order among the two kinds is each store's own.
	var flows []store.FlowVersion
	for i, f := range modelFlows[:1+m.clock.now()%3] {
		flows = append(flows, store.FlowVersion{Flow: f, Version: []string{"", "v2"}[i%2]}, store.FlowVersion{Flow: f})
	}
	m.same("runnable", func(s store.Store) any {
		hs, next, now, err := s.Index.Runnable(ctx, store.Demand{Flows: flows, Limit: 100})
		slices.SortFunc(hs, func(a, b store.Head) int { return cmp.Compare(a.Execution, b.Execution) })
		return []any{norms(hs), next, now, err}
	})
}

func (m *model) compareAll() {
	ctx := context.Background()
	for _, q := range []store.Query{
		{}, {Limit: 2}, {Flow: "f"}, {States: []store.State{store.StateRunning}}, {States: []store.State{store.StateCompleted}},
		{States: []store.State{store.StateRunning, store.StateFailed}, Flow: "g"}, {Labels: map[string]string{"tenant": "x"}},
		{Labels: map[string]string{"tenant": "x", "color": "red"}, Limit: 1}, {Prefix: "a"}, {Prefix: "ab", Flow: "f"}, {Prefix: "z"},
		{Prefix: "a", Labels: map[string]string{"color": "blue"}},
	} {
		m.same(fmt.Sprintf("list %+v", q), func(s store.Store) any {
			pages := [][]store.Head{}
			for q := q; ; {
				hs, next, err := s.Index.List(ctx, q)
				if err != nil {
					m.t.Fatal(err)
				}
				pages = append(pages, norms(hs))
				if q.After = next; next == "" {
					return pages
				}
			}
		})
	}
	for _, n := range modelNodes {
		for _, mailOnly := range []bool{false, true} {
			m.same("owned", func(s store.Store) any {
				hs, err := s.Index.Owned(ctx, n, mailOnly)
				slices.SortFunc(hs, func(a, b store.Head) int { return cmp.Compare(a.Execution, b.Execution) })
				return []any{norms(hs), err}
			})
		}
	}
	m.same("nodes", func(s store.Store) any {
		ls, err := s.Leaser.Nodes(ctx)
		return []any{append([]store.Lease{}, ls...), err}
	})
	sound(m.t, m.db)
}

// norm evens out what is not in the contract: an empty map and none.
func norm(h store.Head) store.Head {
	if len(h.Index.Labels) == 0 {
		h.Index.Labels = nil
	}
	return h
}

func norms(hs []store.Head) []store.Head {
	out := []store.Head{}
	for _, h := range hs {
		out = append(out, norm(h))
	}
	return out
}
