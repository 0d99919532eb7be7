package kernel

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
)

// TestReadyBranchesRunFirstInFirstOut: branches begin in the order in which they
// were made, behind the one that made them, and what they ask for stands in the
// log in the order of asking.
func TestReadyBranchesRunFirstInFirstOut(t *testing.T) {
	var trace []string
	r := start(t, func(b *Branch) End {
		fn := func(name string) func(*Branch) {
			return func(c *Branch) {
				trace = append(trace, name+" begins")
				do(c, "x")
				trace = append(trace, name+" goes on")
				do(c, "y")
			}
		}
		one, two := branch(b, "one", fn("one")), branch(b, "two", fn("two"))
		trace = append(trace, "body")
		do(b, "z")
		joinAll(b, one, two)
		return done
	})
	r.want(`0 EXECUTION_STARTED
		1 EFFECT_SCHEDULED z#1
		2 EFFECT_SCHEDULED one#1/x#1
		3 EFFECT_SCHEDULED two#1/x#1`)
	r.complete("two#1/x#1", "1")
	r.complete("z#1", "1")
	r.complete("one#1/x#1", "1")
	r.complete("one#1/y#1", "1")
	r.complete("two#1/y#1", "1")
	r.want(`0 EXECUTION_STARTED
		1 EFFECT_SCHEDULED z#1
		2 EFFECT_SCHEDULED one#1/x#1
		3 EFFECT_SCHEDULED two#1/x#1
		4 EFFECT_COMPLETED two#1/x#1
		5 EFFECT_SCHEDULED two#1/y#1
		6 EFFECT_COMPLETED z#1
		7 EFFECT_COMPLETED one#1/x#1
		8 EFFECT_SCHEDULED one#1/y#1
		9 EFFECT_COMPLETED one#1/y#1
		10 EFFECT_COMPLETED two#1/y#1
		11 EXECUTION_COMPLETED`)
	want := []string{"body", "one begins", "two begins", "two goes on", "one goes on"}
	if !slices.Equal(trace, want) {
		t.Errorf("ran as %q, want %q", trace, want)
	}
}

// TestCommandsStandInTheOrderOfIssue, whatever their kinds; a read-only effect
// leaves no command.
func TestCommandsStandInTheOrderOfIssue(t *testing.T) {
	r := start(t, func(b *Branch) End {
		b.Timer("late", time.Hour, 0)
		b.Effect("pay", &Effect{Args: json.RawMessage(`{"n":1}`)})
		b.Effect("read", &Effect{ReadOnly: true})
		b.Await("ok", -1)
		b.Timer("soon", time.Second, 0)
		do(b, "pay")
		return done
	})
	r.want(`0 EXECUTION_STARTED
		1 TIMER_SCHEDULED late#1
		2 EFFECT_SCHEDULED pay#1 args {"n":1}
		3 MESSAGE_AWAITED ok#1 of ok
		4 TIMER_SCHEDULED soon#1
		5 EFFECT_SCHEDULED pay#2`)
	var calls []string
	for _, o := range r.m.TakeCalls() {
		calls = append(calls, fmt.Sprintf("%s after %d", o.Path, o.Intent))
	}
	if want := []string{"pay#1 after 2", "read#1 after -1", "pay#2 after 5"}; !slices.Equal(calls, want) {
		t.Errorf("to be called are %q, want %q", calls, want)
	}
	if more := r.m.TakeCalls(); len(more) != 0 {
		t.Errorf("calls are handed out once, got %d more", len(more))
	}
}

// TestSeveralTimersInOneTurn: N timers, N deadlines, N fires, the earliest first
// and those of one instant in the order in which they were made. case 35
func TestSeveralTimersInOneTurn(t *testing.T) {
	var fired []string
	r := start(t, func(b *Branch) End {
		var all []*Branch
		for i, us := range []int{500, 300, 300, 900, 0, 300} {
			all = append(all, branch(b, "b", func(c *Branch) {
				timer(c, fmt.Sprintf("t%d", i), us)
				fired = append(fired, fmt.Sprint(i))
			}))
		}
		joinAll(b, all...)
		return done
	})
	if got := r.m.TakeDue(r.now - 1); got != nil {
		t.Fatalf("%s is due early", got.Path)
	}
	for i := range 6 {
		o := r.fire()
		if r.now < o.branch.m.state.Op(o.Path).Began {
			t.Fatalf("%s fired at %d", o.Path, r.now)
		}
		if want := []event.Time{1000, 1300, 1300, 1300, 1500, 1900}[i]; r.now != want {
			t.Errorf("fire %d at %d, want %d", i, r.now, want)
		}
	}
	if want := []string{"4", "1", "2", "5", "0", "3"}; !slices.Equal(fired, want) {
		t.Errorf("fired %q, want %q", fired, want)
	}
	if !r.m.Ended() || r.m.NextDue() != event.Never || r.m.TakeDue(event.Never) != nil {
		t.Errorf("ended %v, next due %d", r.m.Ended(), r.m.NextDue())
	}
}

// TestTimersUntil an instant: one in the past is a recorded wait that is due at
// once, and no deadline is recorded as none.
func TestTimersUntil(t *testing.T) {
	r := start(t, func(b *Branch) End {
		for i, at := range []event.Time{5000, 17, 0, -4} {
			o, _ := b.Timer(fmt.Sprintf("t%d", i), -1, at)
			b.Wait(o)
		}
		return done
	})
	for _, want := range []event.Time{5000, 17, 1, 1} {
		if got := r.m.NextDue(); got != want {
			t.Fatalf("due at %d, want %d\n%s", got, want, r.text())
		}
		r.fire()
	}
	if !r.m.Ended() {
		t.Error("the body has not ended")
	}
}

// TestTimeNeverGoesBack: a clock that does leaves timestamps and deadlines where
// the log is, and Now is the time of the turn's event.
func TestTimeNeverGoesBack(t *testing.T) {
	var seen []event.Time
	r := start(t, func(b *Branch) End {
		seen = append(seen, b.Now())
		do(b, "a")
		seen = append(seen, b.Now())
		timer(b, "t", 50)
		seen = append(seen, b.Now())
		return done
	})
	r.now = 10
	r.complete("a#1", "1")
	if got := r.m.NextDue(); got != 1050 {
		t.Errorf("due at %d, want 1050: no earlier than asked by the log's own time", got)
	}
	r.now = 2000
	r.m.Fire(r.op("t#1"))
	r.drain()
	if want := []event.Time{1000, 1000, 2000}; !slices.Equal(seen, want) {
		t.Errorf("the body saw %v, want %v", seen, want)
	}
	for i := 1; i < len(r.log); i++ {
		if r.log[i].Time < r.log[i-1].Time {
			t.Errorf("event %d is at %d, before %d", i, r.log[i].Time, r.log[i-1].Time)
		}
	}
}

// TestFailedAttemptsMakeNoTurn: the body does not see them, the next attempt's
// intent is the record of the last, and it is due when that says.
func TestFailedAttemptsMakeNoTurn(t *testing.T) {
	turns := 0
	r := start(t, func(b *Branch) End {
		turns++
		o := do(b, "a")
		turns++
		return End{Failure: o.Failure}
	})
	o := r.op("a#1")
	if only, _ := r.m.Waits(); only {
		t.Error("an effect to be called is no mere wait")
	}
	r.m.FailAttempt(o, &event.Failure{Code: "busy"}, 1700)
	r.drain()
	if o.Attempts != 1 || o.Intent != 2 || r.m.NextDue() != 1700 || turns != 1 {
		t.Errorf("attempts %d, intent %d, due %d, turns %d", o.Attempts, o.Intent, r.m.NextDue(), turns)
	}
	if only, awaits := r.m.Waits(); !only || awaits {
		t.Error("until its next attempt is due it is a mere wait")
	}
	if r.m.TakeDue(1699) != nil || r.m.TakeDue(1700) != o || r.m.NextDue() != event.Never {
		t.Error("the next attempt is not due at 1700, once")
	}
	r.m.FailEffect(o, 2, &event.Failure{Code: "gone", Message: "m"})
	r.drain()
	r.want(`0 EXECUTION_STARTED
		1 EFFECT_SCHEDULED a#1
		2 EFFECT_ATTEMPT_FAILED a#1
		3 EFFECT_FAILED a#1
		4 EXECUTION_FAILED`)
	if f := r.m.State().Failure; f == nil || f.Code != "gone" {
		t.Errorf("failed with %+v", f)
	}
}

// TestEventsCarryTheWritersMetadata from the moment it is set.
func TestEventsCarryTheWritersMetadata(t *testing.T) {
	r := start(t, func(b *Branch) End { do(b, "a"); return done })
	meta := event.EncodeMeta(map[string]string{event.MetaFence: "3"})
	r.m.SetMeta(meta)
	r.complete("a#1", "1")
	for i, e := range r.log {
		if want := map[bool]string{true: string(meta)}[i >= 2]; string(e.Meta) != want {
			t.Errorf("event %d has metadata %q, want %q", i, e.Meta, want)
		}
	}
}
