package sim

import (
	"errors"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// startRaces are about who began an execution.
func startRaces() []Race {
	return []Race{
		{"race 1: two nodes start one id, the winner's answer is lost", lostStart},
		{"race 2: the same, and another node has claimed it when the winner asks again", claimedStart},
		{"race 11: an id that was deleted is started again", deletedAndStarted},
		{"a start is refused by what is deleted before it reads that back", deletedBeforeReadBack},
		{"race 26: a start times out, its first copy still travels, and it is made again", lateStart},
		{"race 38: reconcile comes while the answer to a start is on its way", reconciledStart},
	}
}

func alreadyExists(err error) bool {
	var there *loom.ExecutionAlreadyExistsError
	return errors.As(err, &there)
}

// begin starts the raced execution on m and waits for the answer.
func (c *Cluster) begin(m *Member, p Program) *Start {
	s := c.Start(m, raced, p, 0)
	c.await("the answer to a start", func() bool { return s.Answered })
	return s
}

func lostStart(c *Cluster) {
	ms := c.open(2)
	ms[0].Link.Faults.Plan(first(commits(starts), fault.Fault{Act: fault.LoseReply}))
	p := flowOf(effect("pay", time.Millisecond))
	a := c.Start(ms[0], raced, p, 0)
	c.await("the start to land", func() bool { return c.head().Tip.Exists() })
	b := c.begin(ms[1], p)
	c.await("the first start's answer", func() bool { return a.Answered })
	c.must(a.Err == nil, "the winner was told %v", a.Err)
	c.must(alreadyExists(b.Err), "the loser was told %v", b.Err)
}

// claimedStart lets the winner's lease lapse between its two sendings.
func claimedStart(c *Cluster) {
	ms := c.open(1)
	send := first(commits(starts), fault.Fault{Act: fault.LoseReply}, fault.Fault{Act: fault.Slow, Delay: 6 * c.Config.Lease})
	ms[0].Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if call.Op == fault.Renew {
			return fault.Fault{Act: fault.Fail}
		}
		return send(call)
	})
	a := c.Start(ms[0], raced, flowOf(effect("pay", time.Millisecond), mail("go")), 0)
	c.await("the start to land", func() bool { return c.head().Tip.Exists() })
	b := c.open(1)[0]
	if c.World.Decide("winner", 2) == 0 { // it has not written anything yet when the answer comes
		b.Link.Faults.Plan(first(commits(holding(event.KindEffectScheduled)), fault.Fault{Act: fault.Slow, Delay: 8 * c.Config.Lease}))
	}
	c.await("a takeover", func() bool { return c.head().Tip.Fence == 1 })
	c.await("the answer to the start", func() bool { return a.Answered })
	c.must(a.Err == nil, "the start was told %v", a.Err)
	for _, e := range c.Ledger.Entries {
		c.must(e.Node != ms[0].Node.name, "the body was entered on the node that had lost it")
	}
}

// deletedAndStarted deletes a finished execution, by the store's own door, and starts
// its id again.
func deletedAndStarted(c *Cluster) {
	ms := c.open(2)
	p := flowOf(effect("pay", time.Millisecond))
	c.begin(ms[0], p)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	remove := c.deleting()
	s := c.begin(ms[1], p)
	c.must(errors.Is(s.Err, loom.ErrDeleting), "a start meanwhile was told %v", s.Err)
	c.forget()
	remove()
	c.startedAfresh(func() *Start { return c.begin(ms[1], p) })
}

// deletedBeforeReadBack keeps a start that was refused from reading back what refused it
// until that has been deleted: it is sent once more, alone.
func deletedBeforeReadBack(c *Cluster) {
	ms := c.open(2)
	p := flowOf(effect("pay", time.Millisecond))
	c.begin(ms[0], p)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	reads := false
	ms[1].Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if reads || call.Op != fault.Read {
			return fault.Fault{Act: fault.Pass}
		}
		reads = true
		return fault.Fault{Act: fault.Slow, Delay: c.some(c.Config.Lease)/2 + 5*time.Millisecond}
	})
	c.forget()
	c.startedAfresh(func() *Start {
		s := c.Start(ms[1], raced, p, 0)
		c.await("the start to look what refused it", func() bool { return reads })
		c.deleting()()
		c.await("the answer to the start", func() bool { return s.Answered })
		return s
	})
}

// deleting claims the raced execution, which has ended, for its deletion, and returns what
// carries that out.
func (c *Cluster) deleting() (remove func()) {
	link := c.World.outside.Connect(c.Backend, c.History, noFaults, nil)
	h := c.head()
	var nonce store.Nonce
	c.World.outside.Random(nonce[:])
	res, err := link.Store.Log.Commit(c.ctx(), store.Request{Execution: raced, Nonce: nonce, Expect: h.Tip, Seen: h.Mail,
		Claim: &store.Claim{When: store.AtEnd}, State: store.StateDeleting})
	c.must(err == nil && res[0].Outcome == store.Committed, "the operator's claim: %+v, %v", res, err)
	return func() {
		for done := false; !done && err == nil; {
			done, err = link.Store.Deleter.Delete(c.ctx(), raced, res[0].Tip)
		}
		c.must(err == nil, "deleting: %v", err)
	}
}

// forget forgets what is held against the incarnation that is to be deleted: it is not
// held against the next.
func (c *Cluster) forget() {
	c.Book.Starts = c.Book.Starts[:0]
	clear(c.keys)
	clear(c.steps)
}

// startedAfresh makes a start of an id that is deleted: it begins a life of its own.
func (c *Cluster) startedAfresh(start func() *Start) {
	before := c.calls()
	s := start()
	c.must(s.Err == nil, "the second start was told %v", s.Err)
	c.await("the second end", func() bool { return c.head().State.Terminal() })
	h := c.head()
	c.must(h.Tip.Fence == 0 && c.calls() == before+1, "token %d, %d calls", h.Tip.Fence, c.calls())
}

// lateStart gives up on a start whose request is on its way, and makes it again
// elsewhere: whichever lands, one body runs, and nobody is told a lie.
func lateStart(c *Cluster) {
	ms := c.open(2)
	ms[0].Link.Faults.Plan(first(commits(starts), fault.Fault{Act: fault.Late, Delay: c.Config.Lease}))
	p := flowOf(effect("pay", time.Millisecond))
	a := c.Start(ms[0], raced, p, c.some(c.Config.Lease))
	c.await("the client to give up", func() bool { return a.Answered })
	c.World.outside.Sleep(c.some(c.Config.Lease / 2))
	c.begin(ms[1], p)
	c.World.outside.Sleep(2 * c.Config.Lease)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() <= 1+int(c.head().Tip.Fence), "%d calls under token %d", c.calls(), c.head().Tip.Fence)
}

// reconciledStart has reconcile look at least twice while a start that landed waits
// for its answer.
func reconciledStart(c *Cluster) {
	ms := c.open(1)
	ms[0].Link.Faults.Plan(first(commits(starts), fault.Fault{Act: fault.LoseReply}, fault.Fault{Act: fault.Slow, Delay: c.Config.Lease}))
	c.begin(ms[0], flowOf(effect("pay", time.Millisecond), mail("go")))
	c.await("the effect", func() bool { return c.has(event.KindEffectCompleted) })
	c.must(c.head().Tip.Fence == 0, "the node took its own start from itself: token %d", c.head().Tip.Fence)
}
