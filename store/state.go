package store

import "fmt"

// State is what a store knows in clear of an execution's life. The numbers are
// stored; they never change.
type State uint8

// States. A request whose State is StateKeep leaves it as it is.
const (
	StateKeep       State = 0
	StateRunning    State = 1
	StateCompleted  State = 2
	StateFailed     State = 3
	StateCancelled  State = 4
	StateTerminated State = 5
	StatePaused     State = 6 // nobody owns it and nothing wakes it, until it is running again
	StateForming    State = 7 // a fork or import that is not complete
	StateDeleting   State = 8
	StateMoving     State = 9
)

var stateNames = map[State]string{
	StateKeep: "keep", StateRunning: "running", StateCompleted: "completed", StateFailed: "failed", StateCancelled: "cancelled",
	StateTerminated: "terminated", StatePaused: "paused", StateForming: "forming", StateDeleting: "deleting", StateMoving: "moving",
}

func (s State) String() string {
	if n, ok := stateNames[s]; ok {
		return n
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Terminal reports whether s is an end.
func (s State) Terminal() bool { return s >= StateCompleted && s <= StateTerminated }

// Closed reports whether an execution in s takes no ordinary commit because
// something larger is under way: forming, deleting, moving.
func (s State) Closed() bool { return s >= StateForming }
