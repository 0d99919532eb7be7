package kernel

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// MaxCommitBytes is where a commit is split: what is over travels in the next.
const MaxCommitBytes = 16 << 20

// Journal is the only writer of a live execution. It keeps what is not durable
// yet and makes requests of it, at most one in flight at a time: what gathers
// meanwhile travels in the next. It sends nothing itself.
type Journal struct {
	id    event.ExecutionID
	node  store.NodeID
	index *store.IndexEntry // of a start whose first commit is not settled

	tip    store.Tip    // as acknowledged
	posts  []store.Post // that go with that commit
	born   bool         // sequence 0 is durable, and this journal wrote it or read it
	queue  []event.Envelope
	bytes  int
	flight *store.Request // sent and not settled
	sent   int            // events of queue in flight

	seen    int64 // last message that was looked at
	consume []consumed
}

// consumed is a message that leaves the inbox with the event that records it.
type consumed struct {
	n    int64
	seq  event.Seq // event.None for a repeat that is only dropped
	sent bool      // in the request in flight
}

// NewJournal returns the journal of an execution that node has claimed at tip.
func NewJournal(id event.ExecutionID, node store.NodeID, tip store.Tip) *Journal {
	return &Journal{id: id, node: node, tip: tip, born: true}
}

// NewStart returns the journal of an execution that does not exist yet. Its first
// request creates it, with node as the owner; with node "" nobody owns it. posts go with
// that request.
func NewStart(id event.ExecutionID, node store.NodeID, index store.IndexEntry, posts ...store.Post) *Journal {
	return &Journal{id: id, node: node, tip: store.Absent(), index: &index, posts: posts}
}

// Enqueue adds the next events. The journal owns the slice from now on.
func (j *Journal) Enqueue(es ...event.Envelope) {
	for _, e := range es {
		j.bytes += e.Size()
	}
	if j.queue == nil {
		j.queue = es
		return
	}
	j.queue = append(j.queue, es...)
}

// Looked says that mail up to number n was looked at.
func (j *Journal) Looked(n int64) { j.seen = max(j.seen, n) }

// Seen returns the number of the last message that was looked at.
func (j *Journal) Seen() int64 { return j.seen }

// Consume takes message n out of the inbox together with the event seq, or, with
// event.None, as soon as anything is committed.
func (j *Journal) Consume(n int64, seq event.Seq) {
	j.consume = append(j.consume, consumed{n: n, seq: seq})
}

// Tip returns the tip as last acknowledged.
func (j *Journal) Tip() store.Tip { return j.tip }

// Durable returns the last sequence that is durable.
func (j *Journal) Durable() event.Seq { return j.tip.Head }

// Born reports whether sequence 0 is durable.
func (j *Journal) Born() bool { return j.born }

// Backlog returns the events that are not durable and their size in bytes, those
// in flight included.
func (j *Journal) Backlog() (events, bytes int) { return len(j.queue), j.bytes }

// InFlight returns the request that was sent and is not settled, nil for none.
func (j *Journal) InFlight() *store.Request { return j.flight }

// Dirty reports whether the store does not know yet of events or of consumed
// messages.
func (j *Journal) Dirty() bool { return len(j.queue) > 0 || len(j.consume) > 0 }

// Next makes the next request of what is queued. release and state (StateKeep for
// none) ride on it if it takes all of the queue; it reports whether they do.
func (j *Journal) Next(nonce store.Nonce, release *store.Release, state store.State) (req *store.Request, last bool) {
	n, size := 0, 0
	for n < len(j.queue) && (n == 0 || size+j.queue[n].Size() <= MaxCommitBytes) {
		size += j.queue[n].Size()
		n++
	}
	last = n == len(j.queue)
	req = &store.Request{Execution: j.id, Nonce: nonce, Expect: j.tip, As: j.node,
		Events: j.queue[:n:n], Seen: j.seen}
	req.Publish = published(req.Events)
	if j.index != nil {
		req.As, req.Index, req.Post = "", j.index, j.posts
		if j.node != "" {
			req.Claim = &store.Claim{Owner: j.node, When: store.AnyOwner}
		}
	}
	head := j.tip.Head + event.Seq(n)
	for i := range j.consume {
		c := &j.consume[i]
		if c.sent = c.seq <= head; c.sent {
			req.Consume = append(req.Consume, c.n)
		}
	}
	if last {
		req.Release, req.State = release, state
	}
	j.flight, j.sent = req, n
	return req, last
}

// Fate is what a result means for the journal.
type Fate uint8

// Fates.
const (
	// Durable: the request is committed. The journal goes on.
	Durable Fate = iota + 1
	// Resend: send the same request again, after a while.
	Resend
	// Superseded: somebody else drives the execution, or it is gone. Quiet.
	Superseded
	// MailWaits: the end was refused because mail came; look at it and ask again.
	MailWaits
	// Conflict: a start met something; confirm what.
	Conflict
	// NoLease: the node's own lease is not alive; renew it and send again.
	NoLease
	// Broken: the store calls the request impossible.
	Broken
)

// Settle takes the answer to the request in flight.
func (j *Journal) Settle(res store.Result) Fate {
	req := j.flight
	if req == nil {
		return Broken
	}
	switch res.Outcome {
	case store.Committed:
		return j.committed(req, res)
	case store.Refused:
		return j.refused(req, res)
	}
	return Resend // definite or not: the nonce keeps a repeat from counting twice
}

func (j *Journal) committed(req *store.Request, res store.Result) Fate {
	head := req.Expect.Head + event.Seq(len(req.Events))
	ours := res.Tip.Mark == req.Nonce
	if j.index != nil && !ours && !sabotage.On("birth-is-mine") {
		// known by its birth only: it is ours, and somebody has moved it since
		j.born, j.flight = true, nil
		return Superseded
	}
	j.done(req, res.Tip)
	if res.Tip.Head != head {
		return Superseded
	}
	return Durable
}

// done takes a committed request off the queue.
func (j *Journal) done(req *store.Request, tip store.Tip) {
	for i := range j.sent {
		j.bytes -= j.queue[i].Size()
	}
	j.queue = j.queue[j.sent:]
	if len(j.queue) == 0 {
		j.queue = nil // the store may still read what it was handed
	}
	keep := j.consume[:0]
	for _, c := range j.consume {
		if !c.sent {
			keep = append(keep, c)
		}
	}
	j.consume = keep
	j.tip, j.born = tip, true
	j.flight, j.sent, j.index = nil, 0, nil
}

func (j *Journal) refused(req *store.Request, res store.Result) Fate {
	start := j.index != nil
	ended := req.State.Terminal() && res.State.Terminal() && res.Owner == "" &&
		res.Tip.Fence == req.Expect.Fence && res.Tip.Anchor == req.Expect.Anchor &&
		res.Tip.Head >= req.Expect.Head+event.Seq(len(req.Events))
	switch {
	case res.Refusal == store.RefusedHead && ended:
		// our end landed, its acknowledgement was lost, and a late outcome has
		// moved the head since: nobody else could have ended it under our token
		j.done(req, res.Tip)
		return Durable
	case res.Refusal == store.RefusedMail:
		j.flight, j.sent = nil, 0
		return MailWaits
	case res.Refusal == store.RefusedLease:
		return NoLease
	case res.Refusal == store.RefusedInvalid:
		return Broken
	}
	j.flight, j.sent = nil, 0
	if start {
		return Conflict
	}
	return Superseded
}
