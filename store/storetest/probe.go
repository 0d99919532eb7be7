package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// probe is what a case works with: a bench, and what the case did to it.
type probe struct {
	ctx     context.Context
	bench   Bench
	s       store.Store // bench.Store
	closed  bool
	ids     []event.ExecutionID // every execution the case has asked for
	nonces  uint64
	found   []string
	skipped string
}

func (p *probe) use(b Bench) { p.bench, p.s, p.closed = b, b.Store, false }

// flow is the flow of executions that a case does not care about.
const flow = "storetest.flow"

// at is the timestamp of events that a case does not care about.
const at = event.Time(1_700_000_000_000_000)

// nonce returns one that no request of this case has had.
func (p *probe) nonce() (n store.Nonce) {
	p.nonces++
	n[0] = 0xA5
	binary.BigEndian.PutUint64(n[8:], p.nonces)
	return n
}

// note remembers an id for the walk.
func (p *probe) note(id event.ExecutionID) {
	if id.Validate() == nil && !slices.Contains(p.ids, id) {
		p.ids = append(p.ids, id)
	}
}

// events returns n events of id from seq.
func events(id event.ExecutionID, seq event.Seq, n int) []event.Envelope {
	out := make([]event.Envelope, n)
	for i := range out {
		s := seq + event.Seq(i)
		out[i] = event.Envelope{Execution: id, Sequence: s, Kind: event.KindEffectCompleted, Time: at + event.Time(s),
			Payload: fmt.Appendf(nil, `{"op":"work#%d","result":true}`, s)}
		if s == 0 {
			out[i].Kind = event.KindExecutionStarted
			out[i].Payload = []byte(`{"flow":"` + flow + `","input":null,"seed":"00"}`)
		}
	}
	return out
}

// birth returns a start of id that nobody owns and that nothing wakes.
func (p *probe) birth(id event.ExecutionID) store.Request {
	return store.Request{Execution: id, Nonce: p.nonce(), Expect: store.Absent(), Events: events(id, 0, 1),
		Index: &store.IndexEntry{Flow: flow}}
}

// birthFor returns a start of id by the node that will drive it.
func (p *probe) birthFor(id event.ExecutionID, node store.NodeID) store.Request {
	req := p.birth(id)
	req.Claim = &store.Claim{Owner: node, When: store.AnyOwner}
	return req
}

// step returns a request of one event that follows res, by res.Owner.
func (p *probe) step(id event.ExecutionID, res store.Result) store.Request {
	req := p.act(id, res)
	req.Events = events(id, res.Tip.Head+1, 1)
	return req
}

// act returns a request without events that follows res, by res.Owner.
func (p *probe) act(id event.ExecutionID, res store.Result) store.Request {
	return store.Request{Execution: id, Nonce: p.nonce(), Expect: res.Tip, As: res.Owner, Seen: res.Mail}
}

// take returns a claim of id as res saw it, without events.
func (p *probe) take(id event.ExecutionID, res store.Result, node store.NodeID, when store.When) store.Request {
	req := p.act(id, res)
	req.As, req.Claim = "", &store.Claim{Owner: node, When: when}
	return req
}

// end returns a request that ends id after res with one event.
func (p *probe) end(id event.ExecutionID, res store.Result) store.Request {
	req := p.step(id, res)
	req.State = store.StateCompleted
	return req
}

// node gives node a lease that outlasts the case.
func (p *probe) node(node store.NodeID) { p.lease(node, 1000*time.Hour) }

// lease gives node a lease.
func (p *probe) lease(node store.NodeID, ttl time.Duration) store.Lease {
	l, err := p.s.Leaser.Renew(p.ctx, node, ttl, []string{flow})
	if err != nil {
		p.fatalf("renewal of %s: %v", node, err)
	}
	return l
}

// commit sends one request and returns its answer.
func (p *probe) commit(req store.Request) store.Result { return p.commitAll(req)[0] }

// commitAll sends requests in one call and returns the answers.
func (p *probe) commitAll(reqs ...store.Request) []store.Result {
	for i := range reqs {
		p.note(reqs[i].Execution)
	}
	res, err := p.s.Log.Commit(p.ctx, reqs...)
	if err != nil {
		p.fatalf("Commit returned the error %v", err)
	}
	if len(res) != len(reqs) {
		p.fatalf("Commit of %d requests gave %d results", len(reqs), len(res))
	}
	return res
}

// must commits a request that has to be taken, for the first time, and checks
// what the answer says of the row.
func (p *probe) must(req store.Request) store.Result {
	res := p.commit(req)
	p.isCommitted(req, res)
	return res
}

func (p *probe) isCommitted(req store.Request, res store.Result) {
	if res.Outcome != store.Committed || res.Again {
		p.fatalf("request for %s: %s, want committed, once", req.Execution, say(res))
	}
	if want := req.Expect.Head + event.Seq(len(req.Events)); res.Tip.Head != want {
		p.failf("the answer's head is %d, want %d", res.Tip.Head, want)
	}
	if res.Tip.Mark != req.Nonce {
		p.failf("the answer's mark is %s, want the nonce %s", res.Tip.Mark, req.Nonce)
	}
	if res.Tip.Anchor == "" {
		p.failf("the answer has no anchor")
	}
	if tip := p.tip(req.Execution); tip != res.Tip {
		p.failf("Tip says %+v, the answer said %+v", tip, res.Tip)
	}
}

// again commits a request that was committed before and checks that it is
// recognised and changes nothing.
func (p *probe) again(req store.Request) store.Result {
	before := p.see(req.Execution)
	res := p.commit(req)
	if res.Outcome != store.Committed || !res.Again {
		p.fatalf("resent request for %s: %s, want committed, again", req.Execution, say(res))
	}
	p.unchanged(before, "a request that was sent again")
	return res
}

// refused commits a request that has to be refused for this reason and checks
// that it changes nothing and that the answer shows the row. claim B-18
func (p *probe) refused(req store.Request, want store.Refusal) store.Result {
	before := p.see(req.Execution)
	res := p.commit(req)
	if res.Outcome != store.Refused || res.Refusal != want {
		p.fatalf("request for %s: %s, want refused (%s)", req.Execution, say(res), want)
	}
	if res.Tip != before.tip {
		p.failf("a refusal (%s) shows the tip %+v, the row has %+v", want, res.Tip, before.tip)
	}
	if before.ok && (res.Owner != before.head.Owner || res.State != before.head.State || res.Mail != before.head.Mail) {
		p.failf("a refusal (%s) shows owner %q, state %s, mail %d; the row has %q, %s, %d", want,
			res.Owner, res.State, res.Mail, before.head.Owner, before.head.State, before.head.Mail)
	}
	p.unchanged(before, "a refused request ("+want.String()+")")
	return res
}

// tip returns the tip of id.
func (p *probe) tip(id event.ExecutionID) store.Tip {
	tip, err := p.s.Log.Tip(p.ctx, id)
	if err != nil {
		p.fatalf("tip of %s: %v", id, err)
	}
	return tip
}

// head returns the head row of id, which has to exist.
func (p *probe) head(id event.ExecutionID) store.Head {
	h, ok, err := p.s.Index.Get(p.ctx, id)
	if err != nil || !ok {
		p.fatalf("Get(%s): found %v, error %v", id, ok, err)
	}
	return h
}

// log returns the events of id.
func (p *probe) log(id event.ExecutionID, r store.Range) []event.Envelope {
	var out []event.Envelope
	for env, err := range p.s.Log.Read(p.ctx, id, r) {
		if err != nil {
			p.fatalf("read of %s: %v", id, err)
		}
		out = append(out, env)
	}
	return out
}

// sight is all that can be seen of one execution.
type sight struct {
	id   event.ExecutionID
	tip  store.Tip
	ok   bool // there is a head row, and an Index to show it
	head store.Head
	log  []event.Envelope
	mail []store.Message
}

func (p *probe) see(id event.ExecutionID) sight {
	v := sight{id: id, tip: p.tip(id), log: p.log(id, store.Range{Strong: true})}
	if p.s.Index != nil {
		var err error
		if v.head, v.ok, err = p.s.Index.Get(p.ctx, id); err != nil {
			p.fatalf("Get(%s): %v", id, err)
		}
	}
	if p.s.Inbox != nil {
		v.mail, _ = p.pending(id)
	}
	return v
}

// unchanged checks that an execution is as it was.
func (p *probe) unchanged(was sight, after string) {
	is := p.see(was.id)
	if is.tip != was.tip {
		p.failf("%s moved the tip of %s from %+v to %+v", after, was.id, was.tip, is.tip)
	}
	if is.ok != was.ok || !reflect.DeepEqual(plain(is.head), plain(was.head)) {
		p.failf("%s changed the head row of %s from %+v to %+v", after, was.id, was.head, is.head)
	}
	if !slices.EqualFunc(is.log, was.log, event.Envelope.Equal) {
		p.failf("%s changed the log of %s from %d to %d events, or their bytes", after, was.id, len(was.log), len(is.log))
	}
	if !slices.EqualFunc(is.mail, was.mail, sameMessage) {
		p.failf("%s changed the inbox of %s from %d to %d messages, or their content", after, was.id, len(was.mail), len(is.mail))
	}
}

// plain makes no labels and an empty set of labels the same, and so for what is shown.
func plain(h store.Head) store.Head {
	if len(h.Index.Labels) == 0 {
		h.Index.Labels = nil
	}
	if len(h.Published) == 0 {
		h.Published = nil
	}
	return h
}

// advance moves the store's clock on by d.
func (p *probe) advance(d time.Duration) {
	if p.bench.Advance != nil {
		p.bench.Advance(d)
		return
	}
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
		p.fatalf("waited for %s: %v", d, p.ctx.Err())
	}
}

// say puts an answer into words.
func say(r store.Result) string {
	switch {
	case r.Outcome == store.Refused:
		return fmt.Sprintf("refused (%s) %v", r.Refusal, r.Err)
	case r.Again:
		return r.Outcome.String() + ", again"
	case r.Err != nil:
		return fmt.Sprintf("%s: %v", r.Outcome, r.Err)
	}
	return r.Outcome.String()
}
