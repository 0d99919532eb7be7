package sim

import (
	"slices"
	"strings"

	"github.com/loomwork/loom/event"
)

// Ledger is what workflow code did to the outside world, kept outside of any
// store: it is the other half of the truth.
type Ledger struct {
	Calls   []*Call
	Entries []Entry
	Sights  []Sight
	history *History
}

// NewLedger returns an empty ledger whose places are those of h.
func NewLedger(h *History) *Ledger { return &Ledger{history: h} }

// Call is one call of an effect.
type Call struct {
	Execution event.ExecutionID
	Op        string // path of the step
	Node      string
	Attempt   int // from 1; 0: the oracle works it out
	ReadOnly  bool
	Once      bool   // of a step that may be called once in all
	Asks      bool   // of a step that is verified before it is called again
	Input     []byte // as in the intent; nil: not compared
	Pos       int    // place in the history at which it was made
	Returned  int    // place at which it returned, -1 if it did not
	Result    []byte // as it must be recorded; nil for an error
	// Distrusted says that the node's clocks had stood still: it could not know
	// what it had lost.
	Distrusted bool
}

// Entry is one time that a body was entered.
type Entry struct {
	Execution event.ExecutionID
	// Generation is how many bodies of the execution came before.
	Generation int
	Node       string
	Pos        int
}

// Sight is a result that a body saw.
type Sight struct {
	Execution event.ExecutionID
	Op        string
	Node      string
	Pos       int
	Value     []byte // nil for an error
}

// Enter notes that a body begins.
func (l *Ledger) Enter(node string, id event.ExecutionID, generation int) {
	l.Entries = append(l.Entries, Entry{id, generation, node, l.history.Pos()})
	l.history.world.Note("body of %s entered on %s", id, node)
}

// Call notes that an effect is called; the caller notes its return in it. c's
// places are the ledger's to set.
func (l *Ledger) Call(c Call) *Call {
	c.Pos, c.Returned = l.history.Pos(), -1
	l.Calls = append(l.Calls, &c)
	l.history.world.Note("effect %s of %s called on %s, attempt %d", c.Op, c.Execution, c.Node, c.Attempt)
	return &c
}

// Return notes that a call returned; result is nil for an error.
func (l *Ledger) Return(c *Call, result []byte) {
	c.Returned, c.Result = l.history.Pos(), slices.Clone(result)
}

// open reports whether a call of a step below a path has not returned.
func (l *Ledger) open(id event.ExecutionID, path string) bool {
	return slices.ContainsFunc(l.Calls, func(c *Call) bool {
		return c.Execution == id && c.Returned < 0 && strings.HasPrefix(c.Op, path+"/")
	})
}

// See notes what a body saw.
func (l *Ledger) See(node string, id event.ExecutionID, op string, value []byte) {
	l.Sights = append(l.Sights, Sight{id, op, node, l.history.Pos(), slices.Clone(value)})
}
