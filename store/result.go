package store

import (
	"fmt"

	"github.com/loomwork/loom/event"
)

// Outcome is what became of a request.
type Outcome uint8

const (
	// Unknown: the request may or may not have been committed. Sending it again
	// with the same nonce resolves it.
	Unknown Outcome = iota
	// Committed: all of it is durable, by this sending or an earlier one.
	Committed
	// Refused: nothing of it was written, because of what the head row said.
	Refused
	// Failed: nothing of it was written, because the store could not.
	Failed
)

func (o Outcome) String() string {
	return [...]string{"unknown", "committed", "refused", "failed"}[o&3]
}

// Refusal says why a request was refused.
type Refusal uint8

// Refusals, in the order in which they are judged.
const (
	NotRefused     Refusal = iota
	RefusedAbsent          // the execution does not exist
	RefusedAnchor          // another incarnation
	RefusedFence           // stale or missing token
	RefusedHead            // the head (or the mark) moved: a duplicate or a gap; or the execution exists
	RefusedState           // forming, deleting or moving: try again later
	RefusedOwner           // As is not the owner, or Claim.When does not hold
	RefusedLease           // the new owner's own lease is not alive
	RefusedMail            // an end, while mail waits that the writer has not seen
	RefusedInvalid         // the request contradicts itself; a bug of the caller
)

var refusalNames = [...]string{"none", "absent", "anchor", "stale-fence", "moved", "closed", "owner", "lease", "mail-pending", "invalid"}

func (r Refusal) String() string {
	if int(r) < len(refusalNames) {
		return refusalNames[r]
	}
	return fmt.Sprintf("refusal(%d)", uint8(r))
}

// Result answers one request.
//
// With Committed or Refused the fields from Tip on tell the head row as the
// judging transaction saw it (after the commit, if there was one); an execution
// that does not exist has [Absent]. With Failed or Unknown only Err is set.
type Result struct {
	Outcome Outcome
	Refusal Refusal // with Refused
	// Again says that an earlier sending of the same nonce had committed it. If
	// somebody moved the execution since (a start that is only known by its birth),
	// Tip, Owner and State show where it stands now.
	Again bool
	Tip   Tip
	Owner NodeID
	State State
	Mail  int64      // messages ever posted to this incarnation
	Now   event.Time // the store's clock, never later than the answer's arrival
	Err   error      // with Failed, Unknown, RefusedInvalid: the cause
}
