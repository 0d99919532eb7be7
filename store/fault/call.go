package fault

import (
	"fmt"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Op names a method of a part.
type Op string

// Operations.
const (
	Commit       Op = "commit"
	Read         Op = "read"
	Tip          Op = "tip"
	Get          Op = "get"
	List         Op = "list"
	Runnable     Op = "runnable"
	Owned        Op = "owned"
	Renew        Op = "renew"
	Leave        Op = "leave"
	Nodes        Op = "nodes"
	Post         Op = "post"
	Pending      Op = "pending"
	RecordGet    Op = "record-get"
	RecordPut    Op = "record-put"
	RecordDelete Op = "record-delete"
	RecordList   Op = "record-list"
	Delete       Op = "delete"
)

// writes reports whether the operation changes the store: only then is a lost
// reply something else than a lost request.
func (o Op) writes() bool {
	switch o {
	case Commit, Renew, Leave, Post, RecordPut, RecordDelete, Delete:
		return true
	}
	return false
}

// Call is one request on its way to the store.
type Call struct {
	Op        Op
	Execution event.ExecutionID // "" if the call is about none
	Node      store.NodeID      // the lease's, with Renew and Leave
	Request   *store.Request    // with Commit; not to be changed
}

// Act is what is done to a call.
type Act uint8

// Acts.
const (
	// Chance lets the rates decide; from a chooser, it means none.
	Chance Act = iota
	// Pass does nothing.
	Pass
	// LoseReply lets the store act and reports it as unknown (F1).
	LoseReply
	// LoseRequest lets the store do nothing and reports that as unknown (F2).
	LoseRequest
	// Fail lets the store do nothing and says so (F3, F13).
	Fail
	// Slow makes the caller wait before the store acts (F4).
	Slow
	// Late lets the store act after Delay whether or not the caller still waits or
	// lives, which it does as long as its context lets it (F4). Of a commit only;
	// anything else is Slow.
	Late
)

var actNames = [...]string{"chance", "pass", "lose-reply", "lose-request", "fail", "slow", "late"}

func (a Act) String() string { return actNames[a] }

// Fault is an act with its delay. Delay 0 with Slow and Late means a drawn one.
type Fault struct {
	Act   Act
	Delay time.Duration
}

// Error is a fault's error. Unknown says that the call may have taken effect. That of
// a store that was down matches store.ErrUnavailable if nothing can have come of it.
type Error struct {
	Op      Op
	Act     Act
	Unknown bool
	Down    bool // the store was down
}

func (e *Error) Error() string {
	switch {
	case e.Down && e.Unknown:
		return fmt.Sprintf("fault: %s: the connection broke", e.Op)
	case e.Down:
		return fmt.Sprintf("fault: %s: the store is down", e.Op)
	case e.Unknown:
		return fmt.Sprintf("fault: %s: no reply", e.Op)
	}
	return fmt.Sprintf("fault: %s failed", e.Op)
}

// Is matches store.ErrUnavailable.
func (e *Error) Is(target error) bool {
	return target == error(store.ErrUnavailable) && e.Down && !e.Unknown
}
