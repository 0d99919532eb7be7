package sim

import (
	"github.com/loomwork/loom/event"
)

// Book is what clients were told: each answer is an obligation.
type Book struct {
	c       *Cluster
	Starts  []*Start
	Signals []*Signal
	Results []*Result
}

// Start is a start and its answer. Each has a number of its own, which it carries
// as a label, so that the log says whose start it was.
type Start struct {
	Execution event.ExecutionID // as chosen, or as minted
	Node      string
	Number    int
	Chosen    bool
	Other     bool // of an occurrence: it is there, and another start began it
	Answered  bool
	Err       error
	Pos       int // place in the history of the answer
	Durable   int // place at which Durable said so, -1 if it was not asked, or did not
}

// Signal is a message, or a cancel, and its answer.
type Signal struct {
	Execution event.ExecutionID
	Name      string // "" for a cancel
	ID        string // of the message, "" for a minted one
	Node      string
	Answered  bool
	Err       error
	Pos       int
}

// Result is the answer to a question for a result.
type Result struct {
	Execution event.ExecutionID
	Node      string
	Value     string
	Err       error
	Pos       int
}
