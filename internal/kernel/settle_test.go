package kernel

import (
	"errors"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// TestFates: what each answer means for a commit and for a start, whether the same
// request is still in flight, and that nothing counts as durable that did not
// land. A case names what stays to be written.
func TestFates(t *testing.T) {
	moved := store.Tip{Head: 12, Fence: 4, Anchor: "17", Mark: store.Nonce{8}}
	for _, tc := range []struct {
		name   string
		res    store.Result
		commit Fate
		start  Fate
		flies  bool // the request is still in flight: it is to be sent again
	}{
		{"unknown", store.Result{Outcome: store.Unknown, Err: errors.New("cut")}, Resend, Resend, true},
		{"failed", store.Result{Outcome: store.Failed, Err: errors.New("full")}, Resend, Resend, true},
		{"absent", refused(store.RefusedAbsent, store.Absent()), Superseded, Conflict, false},
		{"another incarnation", refused(store.RefusedAnchor, moved), Superseded, Conflict, false},
		{"stale token", refused(store.RefusedFence, moved), Superseded, Conflict, false},
		{"the head moved", refused(store.RefusedHead, moved), Superseded, Conflict, false},
		{"closed", refused(store.RefusedState, moved), Superseded, Conflict, false},
		{"another owner", refused(store.RefusedOwner, moved), Superseded, Conflict, false},
		{"no lease", refused(store.RefusedLease, tip9), NoLease, NoLease, true},
		{"mail", refused(store.RefusedMail, tip9), MailWaits, MailWaits, false},
		{"invalid", refused(store.RefusedInvalid, tip9), Broken, Broken, true},
	} {
		for _, starts := range []bool{false, true} {
			name := tc.name + map[bool]string{true: ", of a start", false: ", of a commit"}[starts]
			t.Run(name, func(t *testing.T) {
				j, want := owned(2), tc.commit
				if starts {
					j, want = NewStart(rigID, me, store.IndexEntry{Flow: "f"}), tc.start
					j.Enqueue(fact(0, 5), fact(1, 5))
				}
				j.Consume(3, event.None)
				tip, born := j.Tip(), j.Born()
				req, _ := j.Next(nonce, nil, store.StateKeep)
				if got := j.Settle(tc.res); got != want {
					t.Fatalf("fate %d, want %d", got, want)
				}
				if (j.InFlight() == req) != tc.flies || !tc.flies && j.InFlight() != nil {
					t.Errorf("in flight is %v", j.InFlight())
				}
				if n, size := j.Backlog(); n != 2 || size == 0 || j.Tip() != tip || j.Born() != born || !j.Dirty() {
					t.Errorf("backlog %d of %d bytes, tip %+v, born %v", n, size, j.Tip(), j.Born())
				}
				if tc.flies && j.InFlight().Nonce != nonce {
					t.Error("the nonce changed")
				}
				if tc.flies && want != Broken { // and then it lands after all
					if f := j.Settle(landed(req)); f != Durable {
						t.Fatalf("sent again and landed: fate %d", f)
					}
					if n, _ := j.Backlog(); n != 0 || j.Dirty() {
						t.Errorf("%d events are left", n)
					}
				}
			})
		}
	}
}

// TestResendKeepsTheRequest: events that come meanwhile do not travel under the
// nonce of a request that may have landed.
func TestResendKeepsTheRequest(t *testing.T) {
	j := owned(1)
	req, _ := j.Next(nonce, nil, store.StateKeep)
	for range 3 {
		if f := j.Settle(store.Result{Outcome: store.Unknown}); f != Resend {
			t.Fatalf("fate %d", f)
		}
		j.Enqueue(fact(event.Seq(10+len(j.queue)), 10))
		if j.InFlight() != req || req.Nonce != nonce || len(req.Events) != 1 {
			t.Fatalf("in flight is %+v", j.InFlight())
		}
	}
	res := landed(req)
	res.Again = true
	if f := j.Settle(res); f != Durable || j.Durable() != 10 {
		t.Fatalf("fate %d, durable %d", f, j.Durable())
	}
	if next, _ := j.Next(nonce2, nil, store.StateKeep); len(next.Events) != 3 || next.Events[0].Sequence != 11 {
		t.Errorf("the next request has %d events", len(next.Events))
	}
}

// TestSettleWithoutARequest is the shell's mistake and changes nothing.
func TestSettleWithoutARequest(t *testing.T) {
	j := owned(1)
	if f := j.Settle(store.Result{Outcome: store.Committed, Tip: tip9}); f != Broken || j.Durable() != 9 {
		t.Errorf("fate %d, durable %d", f, j.Durable())
	}
}

// TestStartKnownByItsBirth: the start landed, its answer was lost, and somebody
// has claimed the execution since. It was ours; we drive nothing. race 2
func TestStartKnownByItsBirth(t *testing.T) {
	j := NewStart(rigID, me, store.IndexEntry{Flow: "f"})
	j.Enqueue(fact(0, 5))
	req, _ := j.Next(nonce, nil, store.StateKeep)
	j.Settle(store.Result{Outcome: store.Unknown})
	f := j.Settle(store.Result{Outcome: store.Committed, Again: true, Owner: them, State: store.StateRunning,
		Tip: store.Tip{Head: 4, Fence: 1, Anchor: "17", Mark: store.Nonce{7}}})
	if f != Superseded || !j.Born() || j.InFlight() != nil {
		t.Errorf("fate %d, born %v, in flight %v", f, j.Born(), j.InFlight())
	}
	_ = req

	// nobody has moved it: the mark is still that of the start
	j = NewStart(rigID, me, store.IndexEntry{Flow: "f"})
	j.Enqueue(fact(0, 5))
	req, _ = j.Next(nonce, nil, store.StateKeep)
	j.Settle(store.Result{Outcome: store.Unknown})
	res := landed(req)
	res.Again = true
	if f := j.Settle(res); f != Durable || !j.Born() {
		t.Errorf("fate %d, born %v", f, j.Born())
	}
}

// TestParkResentAfterAWake: A parks, the answer is lost, B wakes the execution, A
// sends again and is refused by the token: superseded, however the first sending
// ended. race 4
func TestParkResentAfterAWake(t *testing.T) {
	j := NewJournal(rigID, me, tip9)
	req, last := j.Next(nonce, &store.Release{WakeAt: 50}, store.StateKeep)
	if !last || len(req.Events) != 0 || req.Release == nil {
		t.Fatalf("a park without events is %+v", req)
	}
	if f := j.Settle(store.Result{Outcome: store.Unknown}); f != Resend {
		t.Fatalf("fate %d", f)
	}
	res := refused(store.RefusedFence, store.Tip{Head: 10, Fence: 4, Anchor: "17"})
	res.Owner = them
	if f := j.Settle(res); f != Superseded {
		t.Errorf("fate %d", f)
	}
}

// TestEndResentAfterAReward: the end landed, its answer was lost, an outcome has
// moved the head of the finished execution since. Same token, nobody owns it, it
// has ended: it is ours. race 37
func TestEndResentAfterAReward(t *testing.T) {
	ended := func(change func(*store.Result)) Fate {
		j := owned(2)
		req, last := j.Next(nonce, nil, store.StateCompleted)
		if !last || req.State != store.StateCompleted {
			t.Fatalf("the end is %+v", req)
		}
		if f := j.Settle(store.Result{Outcome: store.Unknown}); f != Resend {
			t.Fatalf("fate %d", f)
		}
		res := store.Result{Outcome: store.Refused, Refusal: store.RefusedHead, State: store.StateCompleted,
			Tip: store.Tip{Head: 12, Fence: 3, Anchor: "17", Mark: store.Nonce{8}}}
		change(&res)
		f := j.Settle(res)
		if n, size := j.Backlog(); (f == Durable) != (n == 0 && size == 0 && j.Durable() == res.Tip.Head && j.InFlight() == nil) {
			t.Errorf("fate %d with %d events left, durable %d", f, n, j.Durable())
		}
		return f
	}
	if f := ended(func(*store.Result) {}); f != Durable {
		t.Errorf("after a reward: fate %d", f)
	}
	if f := ended(func(r *store.Result) { r.Tip.Head = 11 }); f != Durable {
		t.Errorf("after a commit without events: fate %d", f)
	}
	for name, change := range map[string]func(*store.Result){
		"another token":              func(r *store.Result) { r.Tip.Fence = 4 },
		"another incarnation":        func(r *store.Result) { r.Tip.Anchor = "18" },
		"somebody owns it":           func(r *store.Result) { r.Owner = them },
		"it has not ended":           func(r *store.Result) { r.State = store.StateRunning },
		"the head is before the end": func(r *store.Result) { r.Tip.Head = 10 },
		"it is the token":            func(r *store.Result) { r.Refusal = store.RefusedFence },
	} {
		if f := ended(change); f != Superseded {
			t.Errorf("%s: fate %d", name, f)
		}
	}
	j := owned(2) // the same answer to what was no end
	j.Next(nonce, nil, store.StateKeep)
	if f := j.Settle(store.Result{Outcome: store.Refused, Refusal: store.RefusedHead, State: store.StateCompleted,
		Tip: store.Tip{Head: 12, Fence: 3, Anchor: "17"}}); f != Superseded {
		t.Errorf("a commit that was no end: fate %d", f)
	}
}

// TestMailKeepsAnEndOut: the end stays queued, the mail is looked at, and the next
// request says so under a nonce of its own.
func TestMailKeepsAnEndOut(t *testing.T) {
	j := owned(1)
	j.Looked(2)
	j.Next(nonce, nil, store.StateFailed)
	res := refused(store.RefusedMail, tip9)
	res.Mail = 3
	if f := j.Settle(res); f != MailWaits {
		t.Fatalf("fate %d", f)
	}
	j.Looked(3)
	req, last := j.Next(nonce2, nil, store.StateFailed)
	if !last || req.Seen != 3 || req.State != store.StateFailed || req.Nonce != nonce2 || len(req.Events) != 1 || req.Expect != tip9 {
		t.Errorf("last %v, %+v", last, req)
	}
}

// TestACommitThatSomebodyHasMovedOnFrom: an answer whose head is not the one that
// was written tells that somebody else writes.
func TestACommitThatSomebodyHasMovedOnFrom(t *testing.T) {
	j := owned(2)
	req, _ := j.Next(nonce, nil, store.StateKeep)
	res := landed(req)
	res.Tip.Head++
	if f := j.Settle(res); f != Superseded {
		t.Errorf("fate %d", f)
	}
}
