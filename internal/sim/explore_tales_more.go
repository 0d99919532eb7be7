package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// deaferStarters is two starters on clocks that show the same, and from some commit on
// one to four answers in a row that are lost.
func deaferStarters(c *Cluster) {
	ms := c.open(2)
	for _, m := range ms {
		left := 0
		m.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
			if call.Op == fault.Commit && left == 0 {
				left = c.mishap(4)
			}
			if call.Op == fault.Commit && left > 0 {
				left--
				return fault.Fault{Act: fault.LoseReply}
			}
			return fault.Fault{Act: fault.Pass}
		})
	}
	c.Explore()
	other := work()
	other.Salt = c.pick(2)
	c.Start(ms[0], raced, work(), 0)
	c.Start(ms[1], raced, other, 0)
	c.World.outside.Sleep(c.Config.Scan / 2)
}

// givenUp ends a start's context at each await point of its node, and makes the start
// again on another one.
func givenUp(c *Cluster) {
	ms := c.open(2)
	again := func() { c.Start(ms[1], raced, work(), 0) }
	ms[0].Node.each = func() {
		if ms[0].giveUp != nil && c.mishap(1) == 1 {
			ms[0].giveUp()
			again()
		}
	}
	c.Explore()
	c.Start(ms[0], raced, work(), 1000*c.Config.Lease)
	c.World.outside.Sleep(c.Config.Scan / 2)
	if len(c.Book.Starts) == 1 {
		again()
	}
}

// startedAgain: one body and one call of each step, whether the first start was given
// up or not, and the second was told which of them it was.
func startedAgain(c *Cluster) error {
	first, second := c.Book.Starts[0], c.Book.Starts[1]
	mine := startedBy(c.History.lives()[0])
	switch {
	case first.Err != nil && !errors.Is(first.Err, errGivenUp) && !alreadyExists(first.Err):
		return fmt.Errorf("the first start was told %v", first.Err)
	case (second.Err == nil) != (mine == second.Number), second.Err != nil && !alreadyExists(second.Err):
		return fmt.Errorf("the second start was told %v, and start %d began the log", second.Err, mine)
	case len(c.Ledger.Entries) != 1 || c.calls() != 2:
		return fmt.Errorf("%d bodies entered, %d calls", len(c.Ledger.Entries), c.calls())
	}
	return nil
}

// survivor stops a node in its first effect until its execution was taken over, has
// ended, was deleted and is started again; and lets it go on at each await point of
// the node that drives the new one.
func survivor(c *Cluster) {
	ms := c.open(2)
	a, b := ms[0], ms[1]
	c.during = func(m *Member, _ string) {
		if m == a {
			c.during = nil
			a.Node.Pause()
			a.Node.Yield()
		}
	}
	c.Start(a, raced, work(), 0)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	old := c.head()
	link := c.World.outside.Connect(c.Backend, c.History, noFaults, nil)
	q := store.Request{Execution: raced, Expect: old.Tip, Seen: old.Mail, Claim: &store.Claim{When: store.AtEnd}, State: store.StateDeleting}
	c.World.outside.Random(q.Nonce[:])
	res, err := link.Store.Log.Commit(c.ctx(), q)
	for done := false; !done && err == nil; {
		done, err = link.Store.Deleter.Delete(c.ctx(), raced, res[0].Tip)
	}
	c.must(err == nil && old.Tip.Fence == 1, "deleting: %v; token %d", err, old.Tip.Fence)
	clear(c.keys) // the next incarnation's keys are others
	clear(c.steps)
	before := c.calls()
	b.Node.each = func() {
		if c.mishap(1) == 1 {
			a.Node.Resume()
		}
	}
	c.Explore()
	b.Do("start", 0, func(context.Context) { c.Start(b, raced, work(), 0) }, nil)
	c.World.outside.Sleep(c.Config.Scan / 2)
	a.Node.Resume()
	c.World.outside.Sleep(c.Config.Lease)
	tried := false
	for i := range c.History.Records {
		r := &c.History.Records[i]
		tried = tried || r.Did == DidCommit && r.Node == a.Node.name && (r.Result.Refusal == store.RefusedAnchor || r.Result.Refusal == store.RefusedAbsent)
	}
	c.must(tried, "the survivor wrote nothing")
	c.await("the second end", func() bool { return c.head().State.Terminal() && c.head().Tip.Anchor != old.Tip.Anchor })
	h := c.head()
	c.must(h.Tip.Fence == 0 && h.Tip.Head == old.Tip.Head && c.calls() == before+2, "token %d, head %d, %d calls", h.Tip.Fence, h.Tip.Head, c.calls()-before)
}
