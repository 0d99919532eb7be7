package sim

import (
	"fmt"

	"github.com/loomwork/loom/event"
)

// Violation is something that must not be.
type Violation struct {
	Oracle    string // its id, as "O5"
	Execution event.ExecutionID
	Text      string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Oracle, v.Execution, v.Text) }

// violations gathers them.
type violations []Violation

func (vs *violations) add(oracle string, id event.ExecutionID, format string, args ...any) {
	*vs = append(*vs, Violation{oracle, id, fmt.Sprintf(format, args...)})
}

// Judgement is what a run is judged by.
type Judgement struct {
	History *History
	Ledger  *Ledger
	// Minted says of an id that its start was not awaited: its body may be entered
	// before sequence 0 is durable. nil: none was.
	Minted func(event.ExecutionID) bool
	// Runtimes says that all writers are runtimes, which remember what they sent and
	// say what they have looked at.
	Runtimes bool
	// Excused says of a call that its node could not know of its loss: somebody
	// took the execution by force, or the node's clock stood still. nil: none.
	Excused func(*Call) bool
	// End is the store's clock at the end; with it, a timer that was due Grace
	// before and has not fired is a violation. 0: not asked.
	End   event.Time
	Grace event.Time
	// Early is by how much a timer may fire before its deadline, in microseconds;
	// 0 for not at all.
	Early event.Time
}

// Judge asks all the oracles.
func Judge(j Judgement) []Violation {
	lives := j.History.lives()
	var vs violations
	checkLogs(j.History, &vs)
	checkWriters(j.History, &vs)
	checkTokens(lives, &vs)
	checkTimers(j, lives, &vs)
	checkMail(j.History, lives, &vs)
	if j.Runtimes {
		checkSeen(j.History, &vs)
		checkResends(j.History, &vs)
		checkStates(j.History, &vs)
	}
	if j.Ledger != nil {
		checkEntries(j, lives, &vs)
		checkCalls(j, lives, &vs)
		checkResults(j, lives, &vs)
	}
	return vs
}
