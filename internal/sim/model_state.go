package sim

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// The model is a small closed world around the judge: two nodes, a poster with
// one message, one execution. Its states are values that can be compared, its
// moves everything that a node, the network or a fault can do next; [explore]
// goes through all of them. The rules that decide are store.Judge and
// store.Deliver themselves.

// modelRow is the head row and the log, as far as they matter here.
type modelRow struct {
	head, fence int8
	owner       identity
	ended       bool
	due         bool // wake-up: now, else never
	mail, seen  int8
	mark        uint8
	pending     int8 // number of the message in the inbox, 0 for none
	got         int8 // how often the log records the message
}

// identity is a node in one of its lives; 0 is nobody.
type identity uint8

func identityOf(node int, life uint8) identity { return identity(1 + node*8 + int(life)) }

func (i identity) node() int   { return int(i-1) / 8 }
func (i identity) life() uint8 { return uint8(i-1) % 8 }

func (i identity) id() store.NodeID {
	if i == 0 {
		return ""
	}
	return store.NodeID([]byte{'A' + byte(i.node()), '0' + i.life()})
}

func identityFrom(id store.NodeID) identity {
	if id == "" {
		return 0
	}
	return identityOf(int(id[0]-'A'), id[1]-'0')
}

// modelTip is a tip as somebody saw it.
type modelTip struct {
	head, fence int8
	mark        uint8
}

// modelNode is one node.
type modelNode struct {
	life    uint8
	up      bool
	lease   bool  // of this life
	haunted uint8 // bit l: the lease of life l, which crashed, still stands

	view    act // what it means to claim, after a look at the row
	viewTip modelTip

	run   runPhase
	tip   modelTip
	seen  int8
	holds int8 // number of a message that it has seen and not recorded
	got   bool // its log has the message

	req modelRequest
}

type runPhase uint8

const (
	idle    runPhase = iota // drives nothing
	replays                 // owns it, has not read log and inbox yet
	drives
)

// act is what a request asks for.
type act uint8

const (
	none act = iota
	claimUnowned
	claimLapsed
	claimMine
	step
	record // take the message into the log, or drop it as a repeat
	park
	finish
)

// modelRequest is a request, and, once it is answered, its reply.
type modelRequest struct {
	act      act
	by       identity
	expect   modelTip
	seen     int8
	consume  int8
	event    bool
	nonce    uint8
	answered bool

	ok   bool
	mail bool // refused because of mail
	tip  modelTip
}

// postPhase is where the poster is.
type postPhase uint8

const (
	posting  postPhase = iota // the post is on its way
	received                  // the store has it; the reply is on its way
	posted
)

// modelState is one state of everything.
type modelState struct {
	row     modelRow
	nodes   [2]modelNode
	orphans [4]modelRequest // copies that nobody waits for
	post    postPhase
	faults  int8 // left
}

func modelStart(faults int) modelState {
	s := modelState{faults: int8(faults)}
	s.row.due = true
	for i := range s.nodes {
		s.nodes[i].up, s.nodes[i].lease = true, true
	}
	return s
}

// variant says which repair of the design is taken out.
type variant struct {
	name        string
	noReconcile bool // no claim Mine
	blindPark   bool // a release does not look at the mail counter
	blindEnd    bool // an end does not either
	noMark      bool // nothing knows a request that was sent again
}

const (
	modelNow       = event.Time(100)
	modelExecution = event.ExecutionID("e")
)

func nonceOf(n uint8) store.Nonce {
	if n == 0 {
		return store.Nonce{}
	}
	return store.Nonce{n}
}

func (s *modelState) storeRow() *store.Row {
	r := &s.row
	row := &store.Row{Birth: store.Nonce{255}}
	row.Execution = modelExecution
	row.Tip = store.Tip{Head: event.Seq(r.head), Fence: store.Fence(r.fence), Anchor: "1", Mark: nonceOf(r.mark)}
	row.Owner = r.owner.id()
	row.State, row.WakeAt = store.StateRunning, event.Never
	if r.ended {
		row.State = store.StateCompleted
	} else if r.due {
		row.WakeAt = modelNow
	}
	row.Mail, row.Seen = int64(r.mail), int64(r.seen)
	return row
}

func (s *modelState) setRow(row *store.Row) {
	r := &s.row
	r.head, r.fence, r.mark = int8(row.Tip.Head), int8(row.Tip.Fence), row.Tip.Mark[0]
	r.owner = identityFrom(row.Owner)
	r.ended = row.State.Terminal()
	r.due = !r.ended && row.WakeAt <= modelNow
	r.mail, r.seen = int8(row.Mail), int8(row.Seen)
}

func (s *modelState) alive(id store.NodeID) bool {
	i := identityFrom(id)
	if i == 0 {
		return false
	}
	n := &s.nodes[i.node()]
	if n.up && n.life == i.life() {
		return n.lease
	}
	return n.haunted&(1<<i.life()) != 0
}

// storeRequest is q as the store gets it.
func (q *modelRequest) storeRequest() *store.Request {
	r := &store.Request{
		Execution: modelExecution, Nonce: nonceOf(q.nonce), As: q.by.id(), Seen: int64(q.seen),
		Expect: store.Tip{Head: event.Seq(q.expect.head), Fence: store.Fence(q.expect.fence), Anchor: "1", Mark: nonceOf(q.expect.mark)},
	}
	if q.event {
		r.Events = []event.Envelope{{Execution: modelExecution, Sequence: r.Expect.Head + 1, Kind: "X"}}
	}
	if q.consume != 0 {
		r.Consume = []int64{int64(q.consume)}
	}
	switch q.act {
	case claimUnowned:
		r.Claim = &store.Claim{Owner: r.As, When: store.Unowned}
	case claimLapsed:
		r.Claim = &store.Claim{Owner: r.As, When: store.Lapsed}
	case claimMine:
		r.Claim = &store.Claim{Owner: r.As, When: store.Mine}
	case park:
		r.Release = &store.Release{WakeAt: event.Never}
	case finish:
		r.State = store.StateCompleted
	}
	return r
}
