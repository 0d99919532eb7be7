package store_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// dice makes rows and requests out of few values, so that they often meet.
type dice struct{ *rand.Rand }

func (d dice) nonce() store.Nonce { return store.Nonce{byte(d.IntN(4))} }
func (d dice) node() store.NodeID { return []store.NodeID{"", "live", "also-live", "dead"}[d.IntN(4)] }
func (d dice) one(n int) bool     { return d.IntN(n) == 0 }

func alive(n store.NodeID) bool { return n == "live" || n == "also-live" }

var states = []store.State{store.StateRunning, store.StateCompleted, store.StateFailed, store.StateCancelled, store.StateTerminated,
	store.StateForming, store.StateDeleting, store.StateMoving}

func (d dice) row() *store.Row {
	if d.one(5) {
		return nil
	}
	r := &store.Row{Birth: d.nonce()}
	r.Execution = "x"
	r.Tip = store.Tip{Head: event.Seq(d.IntN(3)), Fence: store.Fence(d.IntN(3)), Anchor: store.Anchor("a" + string(rune('0'+d.IntN(2)))), Mark: d.nonce()}
	r.State = states[d.IntN(len(states))]
	if d.one(2) {
		r.State = store.StateRunning
	}
	r.WakeAt = event.Time(d.IntN(20))
	if d.one(3) || r.State.Terminal() {
		r.WakeAt = event.Never
	}
	if !r.State.Terminal() {
		r.Owner = d.node()
	}
	r.Mail = int64(d.IntN(3))
	r.Seen = d.Int64N(r.Mail + 1)
	r.Strikes = d.IntN(3)
	r.Created, r.Updated = 1, 2
	return r
}

// request often expects what row is.
func (d dice) request(row *store.Row) *store.Request {
	req := &store.Request{Execution: "x", Nonce: d.nonce(), Expect: store.Absent(), As: d.node(), Seen: int64(d.IntN(4))}
	if row != nil && !d.one(4) {
		req.Expect = row.Tip
		if d.one(2) {
			req.As = row.Owner
		}
	}
	if !d.one(3) {
		req.Expect.Mark = store.Nonce{}
	}
	if d.one(6) {
		req.Expect.Head = event.Seq(d.IntN(4) - 1)
	}
	if d.one(6) {
		req.Expect.Fence = store.Fence(d.IntN(4) - 1)
	}
	if d.one(6) {
		req.Expect.Anchor = store.Anchor("a" + string(rune('0'+d.IntN(3))))
	}
	for i := range d.IntN(3) {
		req.Events = append(req.Events, event.Envelope{Execution: "x", Sequence: req.Expect.Head + 1 + event.Seq(i), Kind: "k"})
	}
	if !req.Expect.Exists() != d.one(20) {
		req.Index = &store.IndexEntry{Flow: "f"}
	}
	if d.one(3) {
		req.Claim = &store.Claim{Owner: d.node(), When: store.When(d.IntN(6))}
	}
	if d.one(4) {
		req.Release = &store.Release{WakeAt: event.Time(d.IntN(20))}
	}
	if d.one(4) {
		req.State = states[d.IntN(len(states))]
	}
	if len(req.Events) > 0 && d.one(20) {
		req.Events[0].Sequence++
	}
	return req
}

// verdict reads the order of judgement once more, from the doc comment of
// store.Log alone and as a list: the first line that holds is the answer.
func verdict(row *store.Row, q *store.Request) (store.Outcome, store.Refusal) {
	start := q.Expect.Head == event.None
	there := row != nil
	if row == nil {
		row = &store.Row{}
	}
	closed := there && (row.State == store.StateForming || row.State == store.StateDeleting || row.State == store.StateMoving)
	ended := row.State == store.StateCompleted || row.State == store.StateFailed || row.State == store.StateCancelled || row.State == store.StateTerminated
	torn := q.Nonce.IsZero() || start && (len(q.Events) == 0 || q.Index == nil) || !start && q.Index != nil ||
		q.Claim != nil && (q.Claim.When == 0 || q.Claim.When > store.AnyOwner)
	for i, e := range q.Events {
		torn = torn || e.Sequence != q.Expect.Head+1+event.Seq(i)
	}
	when := true
	if q.Claim != nil {
		switch q.Claim.When {
		case store.Unowned:
			when = row.Owner == "" && row.State == store.StateRunning
		case store.Lapsed:
			when = row.Owner != "" && !alive(row.Owner)
		case store.Mine:
			when = row.Owner == q.Claim.Owner && row.Owner != ""
		case store.AtEnd:
			when = ended
		}
	}
	lines := []struct {
		holds bool
		o     store.Outcome
		r     store.Refusal
	}{
		{torn, store.Refused, store.RefusedInvalid},
		{there && row.Tip.Mark == q.Nonce, store.Committed, 0},
		{there && start && row.Birth == q.Nonce, store.Committed, 0},
		{there && start && closed, store.Refused, store.RefusedState},
		{!there && !start, store.Refused, store.RefusedAbsent},
		{there && !start && row.Tip.Anchor != q.Expect.Anchor, store.Refused, store.RefusedAnchor},
		{there && start && row.Tip.Fence != 0, store.Refused, store.RefusedFence},
		{there && !start && row.Tip.Fence != q.Expect.Fence, store.Refused, store.RefusedFence},
		{there && start, store.Refused, store.RefusedHead},
		{there && row.Tip.Head != q.Expect.Head, store.Refused, store.RefusedHead},
		{there && !q.Expect.Mark.IsZero() && row.Tip.Mark != q.Expect.Mark, store.Refused, store.RefusedHead},
		{closed && q.State == store.StateKeep && !(q.Claim != nil && q.Claim.When == store.AnyOwner), store.Refused, store.RefusedState},
		{there && q.Claim == nil && q.As != row.Owner, store.Refused, store.RefusedOwner},
		{there && q.Claim != nil && !when, store.Refused, store.RefusedOwner},
		{q.Claim != nil && q.Claim.Owner != "" && !alive(q.Claim.Owner), store.Refused, store.RefusedLease},
		{there && q.State.Terminal() && q.Seen < row.Mail, store.Refused, store.RefusedMail},
	}
	for _, l := range lines {
		if l.holds {
			return l.o, l.r
		}
	}
	return store.Committed, 0
}

// claim B-17, B-18, B-54, H-26, H-33
func TestJudge(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(7, 11))}
	seen := map[store.Refusal]int{}
	fresh := 0
	for range 120_000 {
		row := d.row()
		req := d.request(row)
		var before store.Row
		if row != nil {
			before = *row
		}
		res, next := store.Judge(row, req, 10, alive)
		if row != nil && !reflect.DeepEqual(*row, before) {
			t.Fatalf("judging changed the row: %+v, it was %+v", *row, before)
		}
		o, r := verdict(row, req)
		if res.Outcome != o || res.Refusal != r {
			t.Fatalf("row %+v\nrequest %+v\nis %s (%s), want %s (%s)", row, req, res.Outcome, res.Refusal, o, r)
		}
		seen[r]++
		if res.Now != 10 {
			t.Fatalf("the answer's clock is %d", res.Now)
		}
		if next == nil {
			if res.Outcome == store.Committed && !res.Again {
				t.Fatalf("committed for the first time, and no row to write: %+v", req)
			}
			shows(t, res, row)
			continue
		}
		if res.Outcome != store.Committed || res.Again {
			t.Fatalf("%s (%s) with a row to write", res.Outcome, res.Refusal)
		}
		fresh++
		shows(t, res, next)
		follows(t, row, req, next)
	}
	for r := store.NotRefused; r <= store.RefusedInvalid; r++ {
		if seen[r] < 100 {
			t.Errorf("only %d requests were answered %s", seen[r], r)
		}
	}
	if fresh < 4_000 {
		t.Errorf("only %d requests were committed", fresh)
	}
}

// shows checks that an answer tells the row.
func shows(t *testing.T, res store.Result, row *store.Row) {
	t.Helper()
	want := store.Result{Tip: store.Absent()}
	if row != nil {
		want = store.Result{Tip: row.Tip, Owner: row.Owner, State: row.State, Mail: row.Mail}
	}
	if res.Tip != want.Tip || res.Owner != want.Owner || res.State != want.State || res.Mail != want.Mail {
		t.Fatalf("the answer %+v does not show the row %+v", res, row)
	}
}

// follows checks the row after a commit against the one before.
func follows(t *testing.T, row *store.Row, q *store.Request, next *store.Row) {
	t.Helper()
	bad := func(what string) {
		t.Helper()
		t.Fatalf("%s\nrow %+v\nrequest %+v\nnext %+v", what, row, q, next)
	}
	old := store.Row{Birth: q.Nonce}
	old.Execution, old.Created, old.Tip, old.WakeAt = q.Execution, 10, store.Tip{Head: event.None}, event.Never
	old.State = store.StateRunning
	if q.Index != nil {
		old.Index = *q.Index
	}
	if row != nil {
		old = *row
	}
	fence := old.Tip.Fence
	if row != nil && q.Claim != nil {
		fence++
	}
	ended := next.State.Terminal()
	switch {
	case next.Tip.Fence != fence:
		bad("the token is not the old one, or one more by a claim")
	case next.Tip.Head != old.Tip.Head+event.Seq(len(q.Events)) || next.Tip.Mark != q.Nonce || next.Tip.Anchor != old.Tip.Anchor:
		bad("the tip does not follow")
	case next.Birth != old.Birth || next.Created != old.Created || next.Execution != "x" || next.Updated != 10 ||
		next.Mail != old.Mail || !reflect.DeepEqual(next.Index, old.Index):
		bad("what never changes did, or the time of the change is wrong")
	case next.Seen != min(max(old.Seen, q.Seen), next.Mail):
		bad("seen does not grow as it should")
	case q.State == store.StateKeep && next.State != old.State, q.State != store.StateKeep && next.State != q.State:
		bad("the state is not the asked one")
	case ended && (next.Owner != "" || next.WakeAt != event.Never):
		bad("an end has an owner or a wake-up")
	case !ended && q.Release != nil && next.Owner != "":
		bad("a release leaves an owner")
	case !ended && q.Release != nil && next.Seen < next.Mail && next.WakeAt > 10:
		bad("it sleeps over unseen mail")
	case !ended && q.Release != nil && next.Seen >= next.Mail && next.WakeAt != q.Release.WakeAt:
		bad("the wake-up is not the asked one")
	case !ended && q.Release == nil && next.WakeAt != old.WakeAt:
		bad("the wake-up changed without a release")
	case !ended && q.Release == nil && q.Claim != nil && next.Owner != q.Claim.Owner:
		bad("the claimant does not own it")
	case !ended && q.Release == nil && q.Claim == nil && next.Owner != old.Owner:
		bad("the owner changed without a claim")
	}
	strikes := old.Strikes
	if q.Claim == nil && len(q.Events) > 0 {
		strikes = 0
	}
	if q.Claim != nil && q.Claim.When == store.Lapsed {
		strikes++
	}
	if next.Strikes != strikes {
		bad("strikes are counted wrongly")
	}
}

// Of any number of requests that expect one tip at most one is committed, and
// exactly one if any of them could be alone. claim A-02, race 13, race 15
func TestJudgeLetsOneWin(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(3, 5))}
	wins := 0
	for range 20_000 {
		row := d.row()
		could, won := 0, 0
		var reqs []*store.Request
		for i := range 6 {
			req := d.request(row)
			req.Nonce = store.Nonce{9, byte(i)}
			if row != nil {
				row.Tip.Mark[1] = 1 // set, so that it is compared
				req.Expect = row.Tip
			} else {
				req.Expect = store.Absent()
			}
			req.Index = nil
			if row == nil {
				req.Index = &store.IndexEntry{Flow: "f"}
			}
			req.Events = []event.Envelope{{Execution: "x", Sequence: req.Expect.Head + 1, Kind: "k"}}
			reqs = append(reqs, req)
			if res, _ := store.Judge(row, req, 10, alive); res.Outcome == store.Committed {
				could++
			}
		}
		for _, req := range reqs {
			if res, next := store.Judge(row, req, 10, alive); next != nil {
				won++
				row = next
			} else if res.Again {
				t.Fatalf("a nonce that nobody sent was known: %+v", req)
			}
		}
		if won > 1 || won == 0 && could > 0 {
			t.Fatalf("of 6 requests on one tip %d won, %d could have", won, could)
		}
		wins += won
	}
	if wins < 5000 {
		t.Errorf("only %d of 20000 rounds had a winner", wins)
	}
}

func TestDeliver(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 9))}
	for range 50_000 {
		row := d.row()
		got, next := store.Deliver(row, 10)
		want := store.Posted
		switch {
		case row == nil:
			want = store.NoSuch
		case row.State.Terminal():
			want = store.Ended
		case row.State.Closed():
			want = store.Blocked
		}
		if got != want || (next != nil) != (want == store.Posted) {
			t.Fatalf("a message to %+v: delivery %d with row %v, want %d", row, got, next, want)
		}
		if next == nil {
			continue
		}
		changed := *next
		changed.Mail--
		changed.WakeAt = row.WakeAt
		wake := row.WakeAt
		if row.Owner == "" {
			wake = min(wake, 10)
		}
		if !reflect.DeepEqual(changed, *row) || next.WakeAt != wake {
			t.Fatalf("a message made %+v of %+v", *next, *row)
		}
	}
}
