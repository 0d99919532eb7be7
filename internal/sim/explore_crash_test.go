package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// swept are the golden flows whose sweeps no clock cuts off.
var swept = []string{"steps", "minted-start", "retries", "sleeps", "messages", "branches", "undone"}

// everywhere runs each place of a sort in the flows that are swept, and asks also of
// each run that passes.
func everywhere(t *testing.T, sort Sort, also func(g *Golden, c, undisturbed *Cluster) error) {
	t.Helper()
	began, ran := time.Now(), int64(0)
	for _, g := range Goldens() {
		if !slices.Contains(swept, g.Name) {
			continue
		}
		places := int64(0)
		undisturbed, err := g.at(inMemory, sort, 0, func(n int64) { places = n }).Seed(1)
		if err != nil {
			t.Fatal(err)
		}
		if places < 3 {
			t.Fatalf("%s has %d places", g.Name, places)
		}
		for k := int64(1); k <= places; k++ {
			c, err := g.at(inMemory, sort, k, nil).Seed(1)
			if err == nil {
				err = also(&g, c, undisturbed)
			}
			if err != nil {
				t.Fatalf("%s at %d of %d in %s: %v\n%s", sort, k, places, g.Name, err, c.Describe(raced))
			}
			ran++
		}
	}
	t.Logf("%d places in %v", ran, time.Since(began))
	t.Logf("tally: fault_places=%d", ran)
}

// takeovers counts the claims of what a node that is gone has left.
func takeovers(c *Cluster) (n int) {
	for i := range c.History.Records {
		r := &c.History.Records[i]
		if r.Did == DidCommit && r.Result.Outcome == store.Committed && !r.Result.Again && r.Request.Claim != nil && r.Request.Claim.When == store.Lapsed {
			n++
		}
	}
	return n
}

// shape is a log without times, tokens and what services answered.
func shape(l *life) string {
	var b strings.Builder
	for _, e := range l.log {
		fmt.Fprintf(&b, "%s %s\n", e.Kind, opOf(e.Envelope))
	}
	return b.String()
}

// opOf is the path of the operation that an event is about, "" for none.
func opOf(e event.Envelope) string {
	switch p, _ := e.Decode(); p := p.(type) {
	case event.EffectScheduled:
		return p.Op
	case event.EffectCompleted:
		return p.Op
	case event.EffectFailed:
		return p.Op
	case event.EffectAttemptFailed:
		return p.Op
	case event.TimerScheduled:
		return p.Op
	case event.TimerFired:
		return p.Op
	}
	return ""
}

// TestSimCrashEverywhere: claims B-52, B-67 and H-02. The node that began an execution
// dies at each of its await points. Whatever it owned then is taken over once, and
// nothing else is; each claim enters the body once; a step whose result was durable is
// not called again; and the log comes out as that of an undisturbed run, but for times
// and tokens, where chance and messages from outside have no part in it.
func TestSimCrashEverywhere(t *testing.T) {
	bare := 0 // places at which sequence 0 was all there was
	everywhere(t, SweepCrash, func(g *Golden, c, undisturbed *Cluster) error {
		lives := c.History.lives()
		if len(lives) == 0 && g.Minted {
			return nil // nothing had begun
		}
		if len(lives) != 1 || c.struck < 0 {
			return fmt.Errorf("%d executions, struck at %d", len(lives), c.struck)
		}
		l, dead := lives[0], c.Members[0].Node.name
		want := 0
		if l.from < c.struck && l.owner(c.struck).node == dead {
			want = 1
		}
		if n := takeovers(c); n != want {
			return fmt.Errorf("%d takeovers, want %d", n, want)
		}
		entries, again := map[string]int{}, map[string]int{}
		for _, e := range c.Ledger.Entries {
			entries[e.Node]++
		}
		for _, claim := range l.claims {
			if again[claim.node]++; claim.node != dead && entries[claim.node] < again[claim.node] {
				return fmt.Errorf("%s claimed it, and its body was not entered there", claim.node)
			}
		}
		for _, call := range c.Ledger.Calls {
			if at := resultAt(l, call.Op); at >= 0 && at < c.struck && call.Pos >= c.struck {
				return fmt.Errorf("%s was called again although its result was durable", call.Op)
			}
		}
		if g.Name == "steps" || g.Name == "sleeps" {
			if got, want := shape(l), shape(undisturbed.History.lives()[0]); got != want {
				return fmt.Errorf("the log is\n%s\nand undisturbed\n%s", got, want)
			}
		}
		if durable := slices.IndexFunc(l.log, func(e logged) bool { return e.pos >= c.struck }); durable == 1 && entries[dead] == 0 {
			bare++
			if n := len(c.Ledger.Entries) - c.parks(l); n != 1 {
				return fmt.Errorf("the body was entered %d times", n)
			}
		}
		return nil
	})
	if bare < 3 {
		t.Errorf("%d places between sequence 0 and the body", bare)
	}
}

// parks counts the claims of an execution that nobody owned: each enters the body once
// more.
func (c *Cluster) parks(l *life) (n int) {
	for _, claim := range l.claims[1:] {
		if l.owner(claim.pos).node == "" {
			n++
		}
	}
	return n
}

// TestSimAShortPauseEverywhere: claim H-02, a starter that stands still for less than
// its lease, anywhere, is not superseded: no takeover, and no call is repeated.
func TestSimAShortPauseEverywhere(t *testing.T) {
	everywhere(t, SweepShort, func(g *Golden, c, _ *Cluster) error {
		if n := takeovers(c); n != 0 {
			return fmt.Errorf("%d takeovers", n)
		}
		return calledOnce(c)
	})
}

// calledOnce: no attempt of a step was called twice.
func calledOnce(c *Cluster) error {
	seen := map[string]bool{}
	for _, call := range c.Ledger.Calls {
		attempt := fmt.Sprint(call.Op, " ", call.Attempt)
		if seen[attempt] && !call.ReadOnly {
			return fmt.Errorf("%s was called twice", attempt)
		}
		seen[attempt] = true
	}
	return nil
}

// TestSimAClockJumpsEverywhere: claim H-23, two hours either way, anywhere, change
// nothing: no takeover, no call is repeated, and the oracles say that nothing is early.
func TestSimAClockJumpsEverywhere(t *testing.T) {
	for _, sort := range []Sort{SweepAhead, SweepBehind} {
		everywhere(t, sort, func(g *Golden, c, _ *Cluster) error {
			if n := takeovers(c); n != 0 {
				return fmt.Errorf("%d takeovers", n)
			}
			return calledOnce(c)
		})
	}
}

// TestSimASuspendedMachineEverywhere: claim H-23, a machine that sleeps for longer than
// its lease while its monotonic clock stands still, anywhere, starts no effect of what
// it has lost: oracle O9 without excuse.
func TestSimASuspendedMachineEverywhere(t *testing.T) {
	everywhere(t, SweepSuspend, func(g *Golden, c, _ *Cluster) error {
		for _, call := range c.Ledger.Calls {
			if call.Distrusted {
				return errors.New("a call is excused")
			}
		}
		return nil
	})
}

// TestSimEachWriteIsHeldBack: claim H-03, each write in turn comes to the store after
// its writer's lease: oracles O5, O7 and O9.
func TestSimEachWriteIsHeldBack(t *testing.T) {
	everywhere(t, SweepGate, func(*Golden, *Cluster, *Cluster) error { return nil })
}

// TestSimAnswersAreLost: claim H-08, from each write on four answers are lost in a row,
// and nobody is told a lie: the starter is told of its own start, no step is called
// again, and nobody takes over from it.
func TestSimAnswersAreLost(t *testing.T) {
	everywhere(t, SweepDeaf, func(g *Golden, c, _ *Cluster) error {
		if s := c.Book.Starts[0]; s.Err != nil {
			return fmt.Errorf("the start was told %v", s.Err)
		}
		if n := takeovers(c); n != 0 {
			return fmt.Errorf("%d takeovers", n)
		}
		return calledOnce(c)
	})
}
