package store

import (
	"context"

	"github.com/loomwork/loom/event"
)

// Inbox keeps messages until a runner records them.
type Inbox interface {
	// Post puts m into the inbox of an execution under the rules of mail in
	// [Log.Commit]. m.N and m.Posted are the store's to set. A message whose id is
	// pending already is not put in again: Posted with Repeat.
	Post(ctx context.Context, to event.ExecutionID, m Message) (Receipt, error)
	// Pending returns at most limit messages of an execution with numbers above
	// after, by number, and the mail counter. A strong read.
	Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) (ms []Message, mail int64, err error)
}

// Delivery is what became of a posted message.
type Delivery uint8

// Deliveries.
const (
	Posted  Delivery = iota + 1 // it is in the inbox, durably
	NoSuch                      // the execution does not exist
	Ended                       // the execution has ended
	Blocked                     // the execution is forming, deleting or moving: try again
)

// Receipt answers a post.
type Receipt struct {
	Delivery Delivery
	Repeat   bool // Posted, by an earlier post of the same message id
	N        int64
	Owner    NodeID // who drives it, "" for nobody: a hint whom to wake
	State    State
	Now      event.Time
}
