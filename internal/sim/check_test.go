package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
)

// script writes one execution by hand over two nodes: a step that A calls and
// whose result it records, a takeover, a step that only B calls, a sleep.
type script struct {
	t    *testing.T
	w    *World
	h    *History
	l    *Ledger
	link map[string]Link
	tip  store.Tip
	n    byte
}

func (s *script) commit(node string, change func(*store.Request), ps ...event.Payload) store.Result {
	s.n++
	q := store.Request{Execution: "e", Nonce: store.Nonce{s.n}, Expect: s.tip, As: store.NodeID(node)}
	change(&q)
	fence := s.tip.Fence
	if q.Claim != nil {
		fence++
	}
	var meta []byte
	if fence > 0 {
		meta = event.EncodeMeta(map[string]string{event.MetaFence: fmt.Sprint(fence)})
	}
	for i, p := range ps {
		q.Events = append(q.Events, event.New("e", q.Expect.Head+1+event.Seq(i), s.w.StoreNow(), p, meta))
	}
	res, err := s.link[node].Store.Log.Commit(background, q)
	if err != nil || res[0].Outcome != store.Committed {
		s.w.Fail("commit of %s: %+v %v", node, res, err)
		return store.Result{}
	}
	s.tip = res[0].Tip
	return res[0]
}

func keep(*store.Request) {}

func (s *script) renew(node string) {
	if _, err := s.link[node].Store.Leaser.Renew(background, store.NodeID(node), time.Minute, nil); err != nil {
		s.w.Fail("%v", err)
	}
}

// play plays the script and returns its judgement, which is clean.
func play(t *testing.T) Judgement {
	t.Helper()
	s := &script{t: t, w: New(1, nil), link: map[string]Link{}, tip: store.Absent()}
	s.h = NewHistory(s.w)
	s.l = NewLedger(s.h)
	db := store.Of(memstore.New(&memstore.Options{Now: s.w.StoreNow}))
	on := func(node string, f func()) {
		done := s.w.Outside().NewLatch()
		n := s.w.nodes[slices.IndexFunc(s.w.nodes, func(n *Node) bool { return n.name == node })]
		n.Go("script", func() { f(); done.Open() })
		done.Wait(background)
	}
	for _, name := range []string{"A", "B"} {
		s.link[name] = s.w.Node(name).Connect(db, s.h, fault.Rates{}, nil)
	}
	effect := func(node, op string, result string) {
		c := s.l.Call(Call{Execution: "e", Op: op, Node: node, Input: []byte(`"in"`)})
		s.l.Return(c, []byte(result))
	}
	err := s.w.Run(func() {
		on("A", func() {
			s.renew("A")
			s.commit("A", func(q *store.Request) {
				q.Claim, q.Index = &store.Claim{Owner: "A", When: store.AnyOwner}, &store.IndexEntry{Flow: "f"}
			}, event.ExecutionStarted{Flow: "f", Input: []byte("1"), Seed: "0"})
			s.l.Enter("A", "e", 0)
			s.commit("A", keep, event.EffectScheduled{Op: "/a#0", Args: []byte(`"in"`)})
			effect("A", "/a#0", "1")
			s.l.See("A", "e", "/a#0", []byte("1"))
			s.commit("A", keep, event.EffectCompleted{Op: "/a#0", Result: []byte("1")}, event.EffectScheduled{Op: "/b#0", Args: []byte(`"in"`)})
			effect("A", "/b#0", "2") // lost with A
		})
		s.w.Outside().Sleep(2 * time.Minute)
		on("B", func() {
			s.renew("B")
			s.commit("B", func(q *store.Request) { q.Claim = &store.Claim{Owner: "B", When: store.Lapsed} })
			for range s.link["B"].Store.Log.Read(background, "e", store.Range{Strong: true}) {
			}
			s.l.Enter("B", "e", 0)
			s.l.See("B", "e", "/a#0", []byte("1"))
			effect("B", "/b#0", "3")
			at := s.w.StoreNow().Add(time.Hour)
			s.commit("B", keep, event.EffectCompleted{Op: "/b#0", Result: []byte("3")}, event.TimerScheduled{Op: "/s#0", Deadline: at})
			s.w.nodes[2].Sleep(time.Hour)
			s.renew("B")
			s.commit("B", keep, event.TimerFired{Op: "/s#0"})
			s.link["B"].Store.Inbox.Post(background, "e", store.Message{ID: "m", Name: "n", Body: []byte("1")})
			s.commit("B", func(q *store.Request) { q.Seen, q.Consume = 1, []int64{1} },
				event.MessageAwaited{Op: "/m#0", Name: "n"}, event.MessageReceived{Op: "/m#0", Name: "n", Message: "m", Body: []byte("1")})
			for range s.link["B"].Store.Log.Read(background, "e", store.Range{Strong: true}) {
			}
			s.link["B"].Store.Log.Tip(background, "e")
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return Judgement{History: s.h, Ledger: s.l, End: s.w.StoreNow()}
}

// commitOf returns the record of the commit that holds an event of a kind.
func commitOf(j Judgement, k event.Kind) (*Record, *event.Envelope) {
	for i := range j.History.Records {
		r := &j.History.Records[i]
		if r.Request == nil {
			continue
		}
		for n := range r.Request.Events {
			if e := &r.Request.Events[n]; e.Kind == k {
				return r, e
			}
		}
	}
	panic("no commit of " + k)
}

func lastRead(j Judgement) *Record {
	for i := len(j.History.Records) - 1; ; i-- {
		if j.History.Records[i].Did == DidRead {
			return &j.History.Records[i]
		}
	}
}

// TestEachOracleCanFail: oracle O1, O2, O4, O5, O6, O7, O8, O9, O10, O11.
func TestEachOracleCanFail(t *testing.T) {
	if vs := Judge(play(t)); len(vs) > 0 {
		t.Fatalf("a clean run: %v", vs)
	}
	for _, c := range []struct {
		name, oracle, text string
		break_             func(*Judgement)
	}{
		{"a committed event is gone", "O1", "shows 8 events of 9", func(j *Judgement) {
			r := lastRead(*j)
			r.Events = slices.Clone(r.Events[:8])
		}},
		{"the head goes back", "O1", "head 3 read", func(j *Judgement) { j.History.Records[len(j.History.Records)-1].Tip.Head = 3 }},
		{"a byte behind the head changes", "O2", "was read as", func(j *Judgement) {
			r := lastRead(*j)
			r.Events = slices.Clone(r.Events)
			r.Events[2].Payload = []byte(`{"op":"/z#0"}`)
		}},
		{"a gap", "O2", "committed where 1 was due", func(j *Judgement) {
			_, e := commitOf(*j, event.KindEffectScheduled)
			e.Sequence++
		}},
		{"an event that nobody wrote", "O2", "never committed", func(j *Judgement) {
			r := lastRead(*j)
			r.Events = append(slices.Clone(r.Events), r.Events[0])
		}},
		{"a message twice", "O2", "recorded twice", func(j *Judgement) {
			r, e := commitOf(*j, event.KindMessageReceived)
			r.Request.Events = append(slices.Clone(r.Request.Events), *e)
		}},
		{"a message from nowhere", "O2", "never posted", func(j *Judgement) {
			j.History.Records = slices.DeleteFunc(j.History.Records, func(r Record) bool { return r.Did == DidPost })
		}},
		{"a body too often", "O4", "entered 3 times", func(j *Judgement) { j.Ledger.Enter("B", "e", 0) }},
		{"a body on a stranger", "O4", "never owned it", func(j *Judgement) { j.Ledger.Enter("C", "e", 0) }},
		{"a body of nothing", "O4", "never existed", func(j *Judgement) { j.Ledger.Enter("A", "x", 0) }},
		{"two drivers", "O10", "under token 1", func(j *Judgement) { j.Ledger.Enter("B", "e", 0) }},
		{"an effect too often", "O5", "called 2 times with 0 changes", func(j *Judgement) { j.Ledger.Calls = append(j.Ledger.Calls, j.Ledger.Calls[0]) }},
		{"a result without a call", "O5", "never called", func(j *Judgement) { j.Ledger.Calls = j.Ledger.Calls[1:] }},
		{"a result that no call gave", "O6", "no call returned", func(j *Judgement) { j.Ledger.Calls[0].Result = []byte("9") }},
		{"a result worked out again", "O6", "although its result was durable", func(j *Judgement) { j.Ledger.Calls[2].Pos = j.History.Pos() }},
		{"a replay that sees something else", "O6", "the log says 1", func(j *Judgement) { j.Ledger.Sights[1].Value = []byte("2") }},
		{"a call before its intent", "O7", "without a durable intent", func(j *Judgement) { j.Ledger.Calls[0].Pos = 1 }},
		{"a call with another input", "O7", "its intent says", func(j *Judgement) { j.Ledger.Calls[0].Input = []byte("0") }},
		{"a token given again", "O8", "token 0 given after token 0", func(j *Judgement) {
			for i := range j.History.Records {
				if r := &j.History.Records[i]; r.Request != nil && r.Request.Claim != nil {
					r.Result.Tip.Fence = 0
				}
			}
		}},
		{"an event under an old token", "O8", "carries token 0", func(j *Judgement) {
			_, e := commitOf(*j, event.KindTimerFired)
			e.Meta = nil
		}},
		{"a commit under a stale token", "O8", "the row stood at 1", func(j *Judgement) {
			r, _ := commitOf(*j, event.KindTimerFired)
			r.Request.Expect.Fence = 0
		}},
		{"a commit of somebody else", "O8", `wrote as "A"`, func(j *Judgement) {
			r, _ := commitOf(*j, event.KindTimerFired)
			r.Request.As = "A"
		}},
		{"a commit that is not known again", "O8", "sent again", func(j *Judgement) {
			r, _ := commitOf(*j, event.KindMessageReceived)
			again := *r
			again.Result = store.Result{Outcome: store.Refused, Refusal: store.RefusedHead}
			j.History.Records = append(j.History.Records, again)
		}},
		{"a call on a zombie", "O9", `while "B" owned it`, func(j *Judgement) { j.Ledger.Calls[2].Node = "A" }},
		{"a call on a stranger", "O9", "never owned it", func(j *Judgement) { j.Ledger.Calls[2].Node = "C" }},
		{"two calls under one token", "O9", "called twice under token 1", func(j *Judgement) { j.Ledger.Calls = append(j.Ledger.Calls, j.Ledger.Calls[2]) }},
		{"a timer early", "O11", "early by the store's clock", func(j *Judgement) {
			r, _ := commitOf(*j, event.KindTimerFired)
			r.Result.Now -= 1
		}},
		{"a timer twice", "O11", "after its wait was over", func(j *Judgement) {
			r, e := commitOf(*j, event.KindTimerFired)
			r.Request.Events = append(slices.Clone(r.Request.Events), *e)
		}},
		{"a timer that was never set", "O11", "never set", func(j *Judgement) {
			_, e := commitOf(*j, event.KindTimerFired)
			e.Payload = event.Encode(event.TimerFired{Op: "/other#0"})
		}},
		{"a timer that never fires", "O11", "has not fired", func(j *Judgement) {
			r, _ := commitOf(*j, event.KindTimerFired)
			r.Request.Events = nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := play(t)
			c.break_(&j)
			vs := Judge(j)
			if !slices.ContainsFunc(vs, func(v Violation) bool { return v.Oracle == c.oracle && strings.Contains(v.Text, c.text) }) {
				t.Errorf("want %s with %q, got %v", c.oracle, c.text, vs)
			}
		})
	}
}
