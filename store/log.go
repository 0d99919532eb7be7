package store

import (
	"context"
	"iter"

	"github.com/loomwork/loom/event"
)

// Log is the part that every backend has.
type Log interface {
	// Commit judges each request alone and answers each, in order: it MUST return
	// exactly len(reqs) results, and MUST let no request change the fate of
	// another. The error is non-nil only when nothing was attempted (then there
	// are no results): the store is closed, or ctx was over on arrival. ctx ends
	// the wait, not the write: a request whose wait ended is Unknown.
	//
	// A request is committed wholly or not at all: events, head row, index,
	// consumed and posted messages MUST become durable together.
	//
	// The order of judgement is fixed, the first that applies wins:
	//
	//	 1. the request contradicts itself: no nonce, an id or an event outside the
	//	    grammar, events not consecutive from Expect.Head+1, a start without
	//	    events or index, an index without a start, a
	//	    publication without a key                          → RefusedInvalid
	//	 2. Nonce equals the row's mark                        → Committed, Again
	//	    (a start also: Nonce equals the row's birth)
	//	 3. a start and no row                                 → on to 9
	//	    a start and a row in a closed state                → RefusedState
	//	    no start and no row                                → RefusedAbsent
	//	 4. Expect.Anchor differs (not in a start)             → RefusedAnchor
	//	 5. Expect.Fence differs; the NoFence of a start is
	//	    right for a row with token 0, and nowhere else     → RefusedFence
	//	 6. Expect.Head differs; Expect.Mark is set and
	//	    differs; a start and the row exists                → RefusedHead
	//	 7. the row's state is closed (forming, deleting,
	//	    moving) and the request neither sets State nor
	//	    claims AnyOwner                                    → RefusedState
	//	 8. no Claim and As is not the row's owner; or Claim
	//	    and its When does not hold                         → RefusedOwner
	//	 9. Claim.Owner is somebody whose lease is not alive   → RefusedLease
	//	10. State is terminal and Seen < the mail counter      → RefusedMail
	//
	// Resending: a request with the nonce of a committed one MUST be answered
	// Committed and Again as long as no later request moved the row.
	//
	// State: a start with StateKeep MUST set StateRunning.
	//
	// Tokens: a start MUST set token 0; a claim MUST set the old token + 1; nothing
	// else changes it. A store without incarnations (2.2.0) goes on above the token of
	// the deleted execution instead, when its id is used again.
	//
	// Release: with Release the owner MUST become nobody and the wake-up WakeAt;
	// if Seen < the mail counter, the wake-up MUST be now at the latest. A terminal
	// State MUST make the owner nobody and the wake-up never. StatePaused MUST make the
	// owner nobody, and a paused execution MUST NOT be runnable or claimed as Unowned,
	// whatever its wake-up and its mail; the wake-up is kept for who resumes it.
	//
	// Mail: each posted message MUST take the next number of the receiver's mail
	// counter in the same transaction; if the receiver is unowned and running, its
	// wake-up MUST become now at the latest. Consumed numbers MUST be gone from the
	// inbox.
	//
	// Published: each key of Publish MUST get its value in the place of the one before,
	// or be gone; every other key MUST keep its value, whatever else the commit does. A
	// start MUST show what it publishes itself and nothing of an earlier execution of
	// its id.
	//
	// Strikes: a committed claim under Lapsed MUST add one to the row's strikes; a
	// commit with events that claims nothing MUST set them to 0.
	//
	// Incarnation: a start MUST give the execution an anchor that no earlier
	// execution of this store had, whatever its id, even if the events are
	// byte-identical to a deleted one's (SPI 2.3.0).
	//
	// Two requests for one execution in one call are judged one after the other.
	Commit(ctx context.Context, reqs ...Request) ([]Result, error)

	// Read yields the events of id in r, in sequence order, without gaps, each
	// byte for byte as committed. An execution that does not exist yields none.
	// After an error the iteration ends. The envelopes are the caller's.
	//
	// With r.Strong the read MUST show every commit acknowledged before the call,
	// by any process.
	Read(ctx context.Context, id event.ExecutionID, r Range) iter.Seq2[event.Envelope, error]

	// Tip returns the tip as a strong read, [Absent] for an execution that does
	// not exist. Head, token, anchor and mark MUST be those of one instant.
	Tip(ctx context.Context, id event.ExecutionID) (Tip, error)
}

// Range is a piece of a log.
type Range struct {
	From event.Seq // first sequence
	// Limit is the most events, 0 for all.
	Limit int
	// Strong asks a decorator that serves reads from elsewhere to ask the writer.
	Strong bool
}
