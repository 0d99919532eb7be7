package loom

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/store"
)

// childMessage is the name of the message by which a child tells its parent of its end.
const childMessage = reserved + "child"

// Between two tries to start or to cancel a child.
const (
	childRetry    = 100 * time.Millisecond
	maxChildRetry = 10 * time.Second
)

// messageTo is a message of Loom's own whose id follows from who sends it and for what,
// so that a repeat is known as one.
func messageTo(to event.ExecutionID, name string, from event.ExecutionID, seed, op string, body []byte) store.Message {
	return store.Message{ID: name + ":" + kernel.IdempotencyKey(from, seed, string(to)+" "+name+" "+op), Name: name, Body: body}
}

// childEnd is the body of a child's message.
type childEnd struct {
	Execution   event.ExecutionID `json:"execution"`
	Fingerprint string            `json:"fingerprint"` // of the parent that it is for
	Settled     json.RawMessage   `json:"settled"`     // the payload of the parent's event
}

// tellParent returns the message that tells an execution's parent of its end; none if it
// has no parent.
func tellParent(parent *parentLink, child event.ExecutionID, seed string, e *ending) []store.Post {
	if parent == nil {
		return nil
	}
	m := messageTo(parent.Execution, childMessage, child, seed, parent.Operation, nil)
	settled := event.Encode(event.ChildSettled{Op: parent.Operation, Message: m.ID, Status: string(e.status), Result: e.result, Error: e.failure})
	// Put together by hand, because the result is kept byte for byte.
	m.Body = fmt.Appendf(nil, `{"execution":%q,"fingerprint":%q,"settled":%s}`, child, parent.Fingerprint, settled)
	return []store.Post{{To: parent.Execution, Message: m}}
}

// hasMail makes this node look after an execution that a commit has just posted to.
func (r *Runtime) hasMail(id event.ExecutionID) {
	if x := r.liveRun(id); x != nil {
		x.nudge()
		return
	}
	r.scan.Wake() // it may be parked, and due now
}

// childFate is what becomes of a child's message.
type childFate int

const (
	childTaken childFate = iota
	childLater           // its start is not recorded yet
	childStray           // nobody waits for it
)

// takeChild records the end of a child that a message tells of.
func (x *run) takeChild(m store.Message) childFate {
	var end childEnd
	if json.Unmarshal(m.Body, &end) != nil || end.Fingerprint != x.fingerprint() {
		return childStray
	}
	p, err := event.Decode(event.KindChildSettled, end.Settled)
	if err != nil {
		return childStray
	}
	settled := p.(event.ChildSettled)
	op := x.m.ChildAt(settled.Op)
	switch {
	case op == nil || op.Child != end.Execution || settled.Message != m.ID:
		return childStray
	case !op.Started:
		return childLater
	}
	x.j.Consume(m.N, x.m.State().Head+1)
	x.m.SettleChild(op, settled)
	return childTaken
}
