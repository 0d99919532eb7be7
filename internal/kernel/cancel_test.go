package kernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// TestCancel: open timers and awaits end at once, an open effect is asked to give
// way and waited for, verbs begun later do nothing and leave nothing; a second
// request is recorded and changes nothing.
func TestCancel(t *testing.T) {
	ends := map[string]any{}
	body := func(b *Branch) End {
		t1 := branch(b, "t", func(c *Branch) { ends["timer"] = timer(c, "x", 9000).Ending })
		a1 := branch(b, "a", func(c *Branch) { ends["await"] = await(c, "x", 9000).Ending })
		o := do(b, "charge")
		ends["effect"] = o.Ending
		_, ends["later"] = b.Effect("refund", &Effect{})
		c := branch(b, "late", func(c *Branch) { _, ends["in a new branch"] = c.Timer("x", 5, 0) })
		joinAll(b, t1, a1, c)
		return End{Failure: &event.Failure{Code: event.CodeCancelled}, GaveWay: true}
	}
	r := start(t, body)
	r.m.TakeCalls()
	r.cancel("m-1")
	if ends["timer"] != GaveWay || ends["await"] != GaveWay || ends["effect"] != nil {
		t.Fatalf("after the cancel: %v", ends)
	}
	if got := r.m.TakeCancels(); len(got) != 1 || got[0].Path != "charge#1" || !got[0].Cancelled {
		t.Errorf("to give way are %v", got)
	}
	if r.m.NextDue() != event.Never {
		t.Errorf("something is due at %d", r.m.NextDue())
	}
	r.cancel("m-2")
	if got := r.m.TakeCancels(); len(got) != 0 {
		t.Errorf("the second request asks %v again", got)
	}
	r.complete("charge#1", `"paid"`)
	want := map[string]any{"timer": GaveWay, "await": GaveWay, "effect": Completed, "later": NoCancelled, "in a new branch": NoCancelled}
	if fmt.Sprint(ends) != fmt.Sprint(want) {
		t.Errorf("ended with %v, want %v", ends, want)
	}
	r.want(`0 EXECUTION_STARTED
		1 EFFECT_SCHEDULED charge#1
		2 TIMER_SCHEDULED t#1/x#1
		3 MESSAGE_AWAITED a#1/x#1 of x
		4 CANCEL_REQUESTED
		5 CANCEL_REQUESTED
		6 EFFECT_COMPLETED charge#1
		7 EXECUTION_CANCELLED`)
	if s := r.m.State(); s.Cancel.Message != "m-1" || !s.Consumed("m-2") {
		t.Errorf("the fold has %+v", s.Cancel)
	}
	for n := 1; n <= len(r.log); n++ {
		replay(t, r.log[:n], body)
	}
}

// TestEndsOfACancelledBody: what the body returns decides what is recorded, and a
// code that only looks like a cancel decides nothing.
func TestEndsOfACancelledBody(t *testing.T) {
	gaveWay := End{Failure: &event.Failure{Code: event.CodeCancelled, Message: "m", Chain: []string{"x"}}, GaveWay: true}
	for _, tc := range []struct {
		name   string
		cancel string // cause, "" for none
		end    End
		status fold.Status
		code   string
	}{
		{"gave way", CauseAsked, gaveWay, fold.Cancelled, event.CodeCancelled},
		{"finished all the same", CauseAsked, done, fold.Completed, ""},
		{"failed of itself", CauseAsked, End{Failure: &event.Failure{Code: "other"}}, fold.Failed, "other"},
		{"gave way to its deadline", CauseDeadline, gaveWay, fold.Failed, event.CodeDeadline},
		{"failed before its deadline", CauseDeadline, End{Failure: &event.Failure{Code: "other"}}, fold.Failed, "other"},
		{"has the code of another's cancel", CauseAsked, End{Failure: gaveWay.Failure}, fold.Failed, event.CodeCancelled},
		{"has that code as its deadline passes", CauseDeadline, End{Failure: gaveWay.Failure}, fold.Failed, event.CodeCancelled},
		{"says so itself", "", gaveWay, fold.Failed, event.CodeCancelled},
		{"says it is overdue", "", End{Failure: &event.Failure{Code: event.CodeDeadline}}, fold.Failed, event.CodeDeadline},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body := func(b *Branch) End { await(b, "m", -1); return tc.end }
			r := start(t, body)
			if tc.cancel == "" {
				r.receive("m#1", "m-1", "1")
			} else {
				r.m.Cancel(event.CancelRequested{Cause: tc.cancel})
				r.drain()
			}
			s := r.m.State()
			if s.Status != tc.status || tc.code == "" != (s.Failure == nil) || s.Failure != nil && s.Failure.Code != tc.code {
				t.Errorf("the end is %s, %+v", s.Status, s.Failure)
			}
			if tc.cancel == CauseDeadline && tc.code == event.CodeDeadline && !slices.Equal(s.Failure.Chain, []string{event.CodeCancelled, "x"}) {
				t.Errorf("the chain is %q", s.Failure.Chain)
			}
			replay(t, r.log, body)
		})
	}
}

// TestGivingUpOnACancelledEffect: it is due to be given up when the shell says so,
// and an effect that has settled is not.
func TestGivingUpOnACancelledEffect(t *testing.T) {
	r := start(t, ops("a+b"))
	a, b := r.op("a#1"), r.op("b#1")
	r.m.FailAttempt(b, &event.Failure{Code: "busy"}, 9000) // waits for its next attempt
	r.drain()
	r.cancel("m-1")
	r.m.GiveUpAt(a, 2000)
	r.m.GiveUpAt(b, 0) // nobody calls it: it can be settled now
	if r.m.NextDue() != 2000 {
		t.Fatalf("due at %d", r.m.NextDue())
	}
	if got := r.m.TakeDue(2000); got != a || !got.Cancelled {
		t.Fatalf("due is %+v", got)
	}
	r.fail("a#1", event.CodeOutcomeUnknown)
	r.m.GiveUpAt(a, 3000)
	if r.m.NextDue() != event.Never {
		t.Errorf("a settled effect is due at %d", r.m.NextDue())
	}
	r.fail("b#1", event.CodeCancelled)
	if !r.m.Ended() {
		t.Error("not ended")
	}
}

// TestCancelRightAfterTheStart: a branch that is cancelled before it began begins
// all the same, and its verbs give way.
func TestCancelRightAfterTheStart(t *testing.T) {
	body := func(b *Branch) End {
		c := branch(b, "c", func(c *Branch) { timer(c, "x", 50); do(c, "y") })
		b.Cancel(c) // before it has begun
		do(b, "z")
		return done
	}
	r := start(t, body)
	r.want("0 EXECUTION_STARTED\n1 EFFECT_SCHEDULED z#1")
	r.cancel("m-1")
	r.complete("z#1", "1")
	if s := r.m.State(); s.Status != fold.Completed {
		t.Errorf("the end is %s", s.Status)
	}
	replay(t, r.log, body)
}
