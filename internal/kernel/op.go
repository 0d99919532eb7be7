package kernel

import (
	"encoding/json"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// Ending says how an operation settled.
type Ending uint8

// Endings. The zero Ending is that of an open operation.
const (
	Open      Ending = iota
	Completed        // Result is set
	Failed           // Failure is set
	Fired            // its deadline passed
	Received         // Result is the message's body
	GaveWay          // a cancel ended it
)

// Op is one operation of a body while it is open, and its outcome after.
type Op struct {
	Path string
	Kind fold.OpKind
	Name string // of the awaited message
	// Effect is what to call, or how to start a child; nil for timers and awaits.
	Effect *Effect
	// Intent is the sequence that must be durable before the effect is called:
	// its EFFECT_SCHEDULED or last EFFECT_ATTEMPT_FAILED; event.None for none.
	Intent event.Seq
	// Attempts counts the recorded failed ones.
	Attempts int
	// Due is the deadline of a timer or await, when the next attempt of an effect
	// may be made, or when a cancelled effect is given up; 0 for none.
	Due event.Time
	// Cancelled says that the effect was asked to give way.
	Cancelled bool
	// Call is the shell's: what it keeps of the call under way, nil for none.
	Call any
	// Inherited is the shell's: an earlier owner may have made this attempt.
	Inherited bool
	// Progress is what the effect last recorded of its progress, nil for nothing.
	Progress json.RawMessage
	// Child is the id of the child that the operation is, "" for none; OnCancel is what
	// a cancel does to it, as recorded; Started says that it is durable.
	Child    event.ExecutionID
	OnCancel string
	Started  bool

	Ending  Ending
	Result  json.RawMessage
	Failure *event.Failure
	Message string // id of the message that was received

	status  string    // of a settled child
	waiter  *Branch   // the branch that opened it, once it waits
	waiters []*Branch // other branches that wait for it
	branch  *Branch
	order   uint64 // of creation; ties of Due
	heapAt  int    // place in the due heap, -1 for none
	after   func(now event.Time) event.Time
	prev    *Op // in the list of open operations
	next    *Op
}

// Effect is what the machine knows of an effect.
type Effect struct {
	// ReadOnly effects have no intent.
	ReadOnly bool
	// Args are recorded with the intent and compared in replay; nil for none.
	Args json.RawMessage
	// Do is the shell's, untouched: the function and its policies.
	Do any
}

// opList is the list of open operations in the order of their creation.
type opList struct{ first, last *Op }

func (l *opList) add(o *Op) {
	o.prev = l.last
	if l.last == nil {
		l.first = o
	} else {
		l.last.next = o
	}
	l.last = o
}

func (l *opList) remove(o *Op) {
	if o.prev == nil {
		l.first = o.next
	} else {
		o.prev.next = o.next
	}
	if o.next == nil {
		l.last = o.prev
	} else {
		o.next.prev = o.prev
	}
	o.prev, o.next = nil, nil
}
