package store

import "github.com/loomwork/loom/event"

// Request moves one execution from one tip to the next, or not at all.
//
// Its zero fields ask for nothing: no events, no claim, state kept.
type Request struct {
	Execution event.ExecutionID
	// Nonce is required. It becomes the head row's mark, and stays its birth if
	// the request creates the execution.
	Nonce Nonce
	// Expect is the tip as last seen; [Absent] for a start.
	Expect Tip
	// As is the owner that the writer claims to be, "" for nobody (late outcomes,
	// operators). Compared with the head row unless the request claims.
	As NodeID
	// Events are consecutive from Expect.Head + 1, all of Execution. May be empty,
	// but not in a start.
	Events []event.Envelope
	// Claim takes ownership; nil to leave it.
	Claim *Claim
	// Release gives ownership up in the same commit; nil to keep it. With Claim as
	// well, the token moves and the owner is nobody.
	Release *Release
	// State is the state after the commit. A terminal state releases the
	// execution, for ever, whatever Release says.
	State State
	// Index is required in a start and nil otherwise.
	Index *IndexEntry
	// Seen is the number of the last message that the writer has looked at.
	Seen int64
	// Consume lists the numbers of the messages that these events record, or that
	// the writer drops as repeats. Their rows are removed.
	Consume []int64
	// Post puts messages into other executions' inboxes in the same transaction.
	// One to an execution that does not exist, or has ended, is dropped.
	Post []Post
	// Publish lists pairs that the execution shows of itself from now on, in the order
	// in which they hold: the last one of a key counts. A start may publish as well.
	Publish []Publication
	// Alone asks a decorator that gathers requests to send this one by itself.
	Alone bool
}

// When is the condition under which a claim holds.
type When uint8

// Conditions of a claim, judged on the locked head row.
const (
	Unowned  When = iota + 1 // nobody owns it, and it is running
	Lapsed                   // its owner's node lease is over, by the store's clock
	Mine                     // the claimant owns it already
	AtEnd                    // its state is terminal
	AnyOwner                 // always: operators; and a start, which has no owner to ask about
)

// Claim takes the execution: token + 1 and a new owner. In a start the token is
// 0.
type Claim struct {
	// Owner is the new owner. Its node lease must be alive by the store's clock in
	// the same transaction. "" claims for nobody: the token moves and no one owns
	// the execution (delete, migrate).
	Owner NodeID
	When  When
}

// Release makes the owner nobody, with a wake-up.
type Release struct {
	// WakeAt is when a node may claim the execution: event.Never for only when a
	// message comes, 0 for now. A writer that leaves an effect open which it, or an
	// owner before it, may have called gives 0: anything else says that nothing is
	// under way.
	WakeAt event.Time
}

// IndexEntry is what a store must know of an execution in clear.
type IndexEntry struct {
	Flow    string
	Version string
	Parent  event.ExecutionID
	Labels  map[string]string
}

// Publication is a value that an execution shows under a key, in the place of the
// earlier one.
type Publication struct {
	Key   string // not empty
	Value string // may be empty, which is a value like any other
	// Gone takes the key back; Value is not looked at then.
	Gone bool
}

// Message is a fact from outside for one execution.
type Message struct {
	ID   string // the sender's; unique in an inbox while it is pending
	Name string
	Body []byte
	// N is the message's number, assigned by the store from the head row's mail
	// counter: the first is 1, there are no gaps.
	N int64
	// Posted is the store's time at which it came.
	Posted event.Time
}

// Post is a message and the execution it is for.
type Post struct {
	To      event.ExecutionID
	Message Message
}
