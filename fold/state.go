package fold

import (
	"encoding/json"
	"slices"

	"github.com/loomwork/loom/event"
)

// Status is where an execution's life stands.
type Status string

// Statuses.
const (
	Running Status = "running"
	// Paused executions do nothing until an operator resumes them.
	Paused    Status = "paused"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
	// Terminated executions were ended from outside.
	Terminated Status = "terminated"
)

// Terminal reports whether s is an end.
func (s Status) Terminal() bool { return s != Running && s != Paused && s != "" }

// State is what a log says. A zero State is that of an empty log; [State.Apply]
// adds the next event.
type State struct {
	Execution event.ExecutionID
	Flow      string
	Version   string
	Input     json.RawMessage // of the generation
	// Generation counts the bodies: 1, and one more for each EXECUTION_CONTINUED. What
	// the log says of operations, versions and consumed messages is kept for the last.
	Generation int
	Seed       string
	Labels     map[string]string
	Deadline   event.Time // 0 for none

	Status  Status
	Head    event.Seq // event.None for an empty log
	Started event.Time
	Updated event.Time // time of the last event

	// Ops are the operations in the order in which the log first names them.
	Ops []Op
	// Paused is why the execution is paused, nil while it is not.
	Paused *event.ExecutionPaused
	// Cancel is the first request to cancel, nil for none.
	Cancel *event.CancelRequested
	// Versions are the marked versions of changes in the body's code, by change; nil
	// for none.
	Versions map[string]int
	// Published are the values that the execution shows of itself in lists, by key; nil
	// for none, and without those that it took back.
	Published map[string]json.RawMessage
	// Result is set when Completed, Failure with every other end.
	Result  json.RawMessage
	Failure *event.Failure

	index    map[string]int  // path → place in Ops
	consumed map[string]bool // message ids that are in the log
	answered map[string]bool // those that are requests and have their answer
}

// OpKind says what an operation is.
type OpKind string

// Kinds of operations.
const (
	Effect OpKind = "effect"
	Timer  OpKind = "timer"
	Await  OpKind = "await"
	Child  OpKind = "child"
)

// OpStatus is where an operation stands.
type OpStatus string

// Statuses of operations.
const (
	OpOpen      OpStatus = "open"      // asked for, not settled
	OpRetrying  OpStatus = "retrying"  // an effect that failed and is due again
	OpCompleted OpStatus = "completed" // an effect's result is recorded
	OpFailed    OpStatus = "failed"    // an effect's error is recorded
	OpFired     OpStatus = "fired"     // a deadline passed
	OpReceived  OpStatus = "received"  // a message came
	OpCancelled OpStatus = "cancelled" // a timer or await that a cancel ended
)

// Op is one operation of a body.
type Op struct {
	Path     string
	Kind     OpKind
	Status   OpStatus
	Name     string     // of the message that an await waits for, of a child's flow
	Attempts int        // recorded failed attempts of an effect
	Due      event.Time // deadline of a timer or await, next attempt of an effect; 0 for none
	ReadOnly bool       // an effect whose result has no intent before it
	First    event.Seq  // where the log first names it
	Last     event.Seq  // where it last does
	Began    event.Time
	Settled  event.Time // 0 while it is open
	// Child is the id of a child, Started whether it is durable, and OnCancel what a
	// cancel of this execution does to it, as recorded.
	Child    event.ExecutionID
	Started  bool
	OnCancel string
	Progress json.RawMessage // what an effect last recorded of its progress, nil for nothing
	Error    string          // code of the last recorded error, "" for none
}

// Open reports whether the operation is not settled.
func (o *Op) Open() bool { return o.Status == OpOpen || o.Status == OpRetrying }

// Grow makes room for n more operations, for who knows how many are to come.
func (s *State) Grow(n int) {
	s.Ops = slices.Grow(s.Ops, n)
	if s.index == nil {
		s.index = make(map[string]int, n)
	}
}

// Op returns the operation with the path, nil if the log names none.
func (s *State) Op(path string) *Op {
	if i, ok := s.index[path]; ok {
		return &s.Ops[i]
	}
	return nil
}

// Consumed reports whether the message with this id is in the log.
func (s *State) Consumed(message string) bool { return s.consumed[message] }

// Answered reports whether the request with this message id has its answer in the log.
func (s *State) Answered(request string) bool { return s.answered[request] }
