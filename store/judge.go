package store

import (
	"errors"
	"fmt"
	"maps"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
)

// Row is a head row with what only the store looks at.
type Row struct {
	Head
	Birth Nonce // nonce of the request that created it
}

// Judge decides one request against the row that the transaction holds, in the
// order that [Log.Commit] fixes. row is nil if there is none. It returns the
// answer and, if that is a fresh commit, the row as it must be written; the
// incarnation of a start (Tip.Anchor) is the backend's to add, to both.
//
// A backend that keeps its rows in SQL may judge there instead; the kit holds it
// to the same answers.
func Judge(row *Row, req *Request, now event.Time, alive func(NodeID) bool) (Result, *Row) {
	if err := check(req); err != nil {
		res := answer(row, now)
		res.Outcome, res.Refusal, res.Err = Refused, RefusedInvalid, err
		return res, nil
	}
	start := !req.Expect.Exists()
	if row != nil && (row.Tip.Mark == req.Nonce && !sabotage.On("mark-ignored") && !sabotage.On("mark-and-reconcile") || start && row.Birth == req.Nonce && !sabotage.On("birth-ignored")) {
		res := answer(row, now)
		res.Outcome, res.Again = Committed, true
		return res, nil
	}
	if why := refusal(row, req, start, alive); why != NotRefused {
		res := answer(row, now)
		res.Outcome, res.Refusal = Refused, why
		if row != nil && sabotage.On("published-anyway") {
			row.Published = publish(row.Published, req.Publish)
		}
		return res, nil
	}
	next := advance(row, req, now)
	res := answer(next, now)
	res.Outcome = Committed
	return res, next
}

func answer(row *Row, now event.Time) Result {
	if row == nil {
		return Result{Tip: Absent(), Now: now}
	}
	return Result{Tip: row.Tip, Owner: row.Owner, State: row.State, Mail: row.Mail, Now: now}
}

func refusal(row *Row, req *Request, start bool, alive func(NodeID) bool) Refusal {
	switch {
	case start && row == nil:
		return leaseOf(req, alive)
	case start && row.State.Closed():
		return RefusedState
	case start && row.Tip.Fence != 0:
		return RefusedFence
	case start:
		return RefusedHead
	case row == nil:
		return RefusedAbsent
	case req.Expect.Anchor != row.Tip.Anchor && !sabotage.On("anchor-dropped"):
		return RefusedAnchor
	case sabotage.On("fence-at-least") && req.Expect.Fence > row.Tip.Fence, sabotage.On("fence-dropped"):
	case req.Expect.Fence != row.Tip.Fence:
		return RefusedFence
	}
	switch {
	case req.Expect.Head != row.Tip.Head, !req.Expect.Mark.IsZero() && req.Expect.Mark != row.Tip.Mark && !sabotage.On("mark-unchecked"):
		return RefusedHead
	case row.State.Closed() && req.State == StateKeep && (req.Claim == nil || req.Claim.When != AnyOwner):
		return RefusedState
	case req.Claim == nil && req.As != row.Owner && !sabotage.On("owner-dropped"), req.Claim != nil && !holds(req.Claim, row, alive):
		return RefusedOwner
	}
	if why := leaseOf(req, alive); why != NotRefused {
		return why
	}
	if req.State.Terminal() && req.Seen < row.Mail && !sabotage.On("end-ignores-mail") {
		return RefusedMail
	}
	return NotRefused
}

func leaseOf(req *Request, alive func(NodeID) bool) Refusal {
	if req.Claim != nil && req.Claim.Owner != "" && !alive(req.Claim.Owner) && !sabotage.On("claim-without-lease") {
		return RefusedLease
	}
	return NotRefused
}

func holds(c *Claim, row *Row, alive func(NodeID) bool) bool {
	switch c.When {
	case Unowned:
		return row.Owner == "" && row.State == StateRunning
	case Lapsed:
		return row.Owner != "" && (!alive(row.Owner) || sabotage.On("claim-of-the-living"))
	case Mine:
		return row.Owner != "" && row.Owner == c.Owner
	case AtEnd:
		return row.State.Terminal()
	case AnyOwner:
		return true
	}
	return false
}

// advance returns the row after a request that was not refused.
func advance(row *Row, req *Request, now event.Time) *Row {
	next := &Row{}
	if row != nil {
		*next = *row
	} else {
		next.Execution, next.Birth, next.Created = req.Execution, req.Nonce, now
		next.Tip = Tip{Head: event.None}
		next.State, next.WakeAt = StateRunning, event.Never
		next.Index = *req.Index
	}
	next.Tip.Head += event.Seq(len(req.Events))
	next.Tip.Mark = req.Nonce
	next.Published = publish(next.Published, req.Publish)
	next.Updated = now
	next.Seen = min(max(next.Seen, req.Seen), next.Mail) // nobody has seen what is to come
	if req.State != StateKeep {
		next.State = req.State
	}
	if c := req.Claim; c != nil {
		next.Owner = c.Owner
		if row != nil && !sabotage.On("claim-keeps-token") {
			next.Tip.Fence++
		}
		if c.When == Lapsed {
			next.Strikes++
		}
	} else if len(req.Events) > 0 {
		next.Strikes = 0
	}
	if r := req.Release; r != nil {
		next.Owner, next.WakeAt = "", r.WakeAt
		if next.Seen < next.Mail && !sabotage.On("park-ignores-mail") {
			next.WakeAt = min(next.WakeAt, now)
		}
	}
	if next.State == StatePaused {
		next.Owner = ""
	}
	if next.State.Terminal() {
		next.Owner, next.WakeAt = "", event.Never
	}
	return next
}

// publish returns what is shown after news, nil for nothing. It leaves shown as it is:
// readers may hold it.
func publish(shown map[string]string, news []Publication) map[string]string {
	if len(news) == 0 {
		return shown
	}
	next := maps.Clone(shown)
	for _, p := range news {
		switch {
		case p.Gone:
			delete(next, p.Key)
		case next == nil:
			next = map[string]string{p.Key: p.Value}
		default:
			next[p.Key] = p.Value
		}
	}
	if len(next) == 0 {
		return nil
	}
	return next
}

// Deliver returns what becomes of a message posted to row (nil for none), and
// the row as it must be written if the message is put in: it takes the number
// next.Mail.
func Deliver(row *Row, now event.Time) (Delivery, *Row) {
	switch {
	case row == nil:
		return NoSuch, nil
	case row.State.Terminal():
		return Ended, nil
	case row.State.Closed():
		return Blocked, nil
	}
	next := *row
	next.Mail++
	if next.Owner == "" && next.State == StateRunning && !sabotage.On("post-wakes-nobody") {
		next.WakeAt = min(next.WakeAt, now)
	}
	return Posted, &next
}

func check(req *Request) error {
	if err := req.Execution.Validate(); err != nil {
		return err
	}
	if req.Nonce.IsZero() {
		return errors.New("store: request without a nonce")
	}
	start := !req.Expect.Exists()
	if start && (len(req.Events) == 0 || req.Index == nil) {
		return errors.New("store: a start needs its first event and its index entry")
	}
	if !start && req.Index != nil {
		return errors.New("store: only a start carries an index entry")
	}
	if c := req.Claim; c != nil && (c.When < Unowned || c.When > AnyOwner) {
		return errors.New("store: claim without a condition")
	}
	for i := range req.Publish {
		if req.Publish[i].Key == "" {
			return errors.New("store: publication without a key")
		}
	}
	for i := range req.Events {
		e := &req.Events[i]
		if want := req.Expect.Head + 1 + event.Seq(i); e.Execution != req.Execution || e.Sequence != want {
			return fmt.Errorf("store: event %s stands where %s is due", e.ID(), event.EnvelopeID(req.Execution, want))
		}
		if e.Kind == "" {
			return fmt.Errorf("store: event %s has no kind", e.ID())
		}
	}
	return nil
}
