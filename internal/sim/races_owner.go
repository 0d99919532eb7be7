package sim

import (
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// ownerRaces are about who drives an execution.
func ownerRaces() []Race {
	return []Race{
		{"race 3: a claim's answer is lost", lostClaim},
		{"race 4: a park's answer is lost, and another node wakes the execution", lostPark},
		{"race 7: a node stops behind its acknowledged intent, and goes on after a takeover", stoppedBehindIntent},
		{"race 8: an effect takes longer than many leases", longEffect},
		{"race 9: a renewal and a takeover at expiry", renewedAtExpiry},
		{"a node that was cut off comes back with its result", zombieWriter},
		{"race 14: somebody writes as nobody while the owner sits in an effect", nobodyWrites},
		{"race 28: the store is away until all leases have lapsed", storeAway},
		{"a run that waits with several calls learns that it was superseded", lostWhileWaiting},
		{"the answer to a commit ends a run whose body has returned", endedByAnswer},
		{"race 31: an operator takes an execution from a runner that commits all the time", takenByForce},
		{"race 37: an end's answer is lost, and a late fact has moved the head", lateFact},
	}
}

func lostClaim(c *Cluster) {
	ms := c.open(1)
	c.begin(ms[0], flowOf(effect("pay", c.Config.Lease), mail("go")))
	c.await("the call", func() bool { return c.calls() == 1 })
	ms[0].Node.Crash()
	b := c.Join(false)
	lost := first(commits(claims), fault.Fault{Act: fault.LoseReply}, fault.Fault{Act: fault.LoseReply})
	b.Link.Faults.Plan(lost)
	c.await("the result", func() bool { return c.has(event.KindEffectCompleted) })
	c.must(c.head().Tip.Fence == 1 && c.calls() == 2, "token %d, %d calls", c.head().Tip.Fence, c.calls())
}

// lostPark delays the second sending of a park until another node has woken the
// execution by its timer. The starter, under token 0 and nobody's, is shut out by that
// wake-up (claim B-50).
func lostPark(c *Cluster) {
	ms := c.open(2)
	ms[0].Link.Faults.Plan(first(commits(releases), fault.Fault{Act: fault.LoseReply}, fault.Fault{Act: fault.Slow, Delay: 4 * c.Config.Lease}))
	c.begin(ms[0], flowOf(nap(2*c.Config.Unload), effect("pay", time.Millisecond)))
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() == 1, "%d calls", c.calls())
	c.World.outside.Sleep(4 * c.Config.Lease)
}

// stoppedBehindIntent pauses a node right after the commit of its intents. Its calls,
// if it makes any, are those of them, and none after the lease bound.
func stoppedBehindIntent(c *Cluster) {
	a, n := c.open(1)[0], 0
	a.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if n == 0 && call.Op == fault.Commit && holding(event.KindEffectScheduled)(call.Request) {
			n++
			after := a.Node.Points() + 1 + int64(c.World.Decide("points", 4))
			a.Node.AtPoint(after, func() {
				a.Node.Pause()
				c.World.outside.After(3*c.Config.Lease, a.Node.Resume)
			})
		}
		return fault.Fault{Act: fault.Pass}
	})
	c.open(1)
	two := [][]Step{{deaf("pay", time.Millisecond)}, {deaf("book", time.Millisecond)}, {effect("tell", 0)}}
	c.Start(a, raced, flowOf(Step{Kind: StepAll, Name: "b", Lines: two}), 0)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() <= 3+3*int(c.head().Tip.Fence), "%d calls under token %d", c.calls(), c.head().Tip.Fence)
	c.World.outside.Sleep(4 * c.Config.Lease)
}

func longEffect(c *Cluster) {
	ms := c.open(2)
	c.begin(ms[0], flowOf(deaf("pay", 20*c.Config.Lease)))
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.head().Tip.Fence == 0 && c.calls() == 1, "token %d, %d calls", c.head().Tip.Fence, c.calls())
}

// renewedAtExpiry makes renewals travel for about a lease, so that they come in at
// its end, just before it or just after.
func renewedAtExpiry(c *Cluster) {
	ms := c.open(2)
	ms[0].Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if call.Op == fault.Renew {
			return fault.Fault{Act: fault.Slow, Delay: c.Config.Lease/4 + c.some(c.Config.Lease/8)}
		}
		return fault.Fault{Act: fault.Pass}
	})
	c.begin(ms[0], flowOf(effect("pay", 2*c.Config.Lease), effect("book", 2*c.Config.Lease), effect("tell", c.Config.Lease)))
	c.await("the end", func() bool { return c.head().State.Terminal() })
	if c.head().Tip.Fence == 0 {
		c.must(c.calls() == 3, "a living owner called %d times", c.calls())
	}
}

// zombieWriter cuts a node off while it is in an effect, until another one has the
// execution; then it comes back with its result.
func zombieWriter(c *Cluster) {
	ms := c.open(2)
	c.begin(ms[0], flowOf(deaf("pay", c.Config.Lease), effect("book", 3*c.Config.Lease)))
	c.await("the call", func() bool { return c.calls() == 1 })
	ms[0].Link.Faults.Down(true)
	c.await("a takeover", func() bool { return c.head().Tip.Fence == 1 })
	ms[0].Link.Faults.Down(false)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() == 3, "%d calls", c.calls())
}

// nobodyWrites is an operator with the tip that the owner has.
func nobodyWrites(c *Cluster) {
	ms := c.open(1)
	c.begin(ms[0], flowOf(effect("pay", c.Config.Lease)))
	c.await("the call", func() bool { return c.calls() == 1 })
	h := c.head()
	c.fact(h, store.RefusedOwner)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() == 1 && c.head().Tip.Fence == 0, "the owner was disturbed: token %d, %d calls", c.head().Tip.Fence, c.calls())
}

// fact writes a fact of no known kind as nobody, at the tip that h has; want is how
// it must be refused.
func (c *Cluster) fact(h store.Head, want store.Refusal) {
	link := c.World.outside.Connect(c.Backend, c.History, noFaults, nil)
	e := event.New(raced, h.Tip.Head+1, c.World.StoreNow(), event.Unknown{Name: "REWARD_NOTED", Raw: []byte("{}")}, nil)
	q := store.Request{Execution: raced, Expect: h.Tip, Events: []event.Envelope{e}}
	c.World.outside.Random(q.Nonce[:])
	res, err := link.Store.Log.Commit(c.ctx(), q)
	c.must(err == nil && res[0].Refusal == want, "writing as nobody: %+v, %v", res, err)
}

// storeAway takes the store from all nodes, with effects in the air and calls to come.
func storeAway(c *Cluster) {
	ms := c.open(2)
	c.begin(ms[0], flowOf(effect("pay", c.Config.Lease), effect("book", c.Config.Lease), effect("tell", 0)))
	c.await("the call", func() bool { return c.calls() == 1 })
	for _, m := range ms {
		m.Link.Faults.Down(true)
	}
	c.World.outside.Sleep(3 * c.Config.Lease)
	for _, m := range ms {
		m.Link.Faults.Down(false)
	}
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() <= 3+int(c.head().Tip.Fence), "%d calls under token %d", c.calls(), c.head().Tip.Fence)
}

// takenByForce claims for nobody, whoever the owner is, and looks again until it
// holds. The runner commits at every step of the world that it gets.
func takenByForce(c *Cluster) {
	ms := c.open(1)
	c.forced = true
	var steps []Step
	for range 40 {
		steps = append(steps, effect("pay", 0))
	}
	c.begin(ms[0], flowOf(steps...))
	link := c.World.outside.Connect(c.Backend, c.History, noFaults, nil)
	for try := 0; ; try++ {
		h, ok, err := link.Store.Index.Get(c.ctx(), raced)
		if err != nil || !ok || try > 1000 {
			c.World.Fail("the operator, try %d: %v, %v", try, ok, err)
			return
		}
		if h.State.Terminal() {
			return // it was faster
		}
		q := store.Request{Execution: raced, Expect: h.Tip, Claim: &store.Claim{When: store.AnyOwner}, Release: &store.Release{}}
		c.World.outside.Random(q.Nonce[:])
		res, err := link.Store.Log.Commit(c.ctx(), q)
		if err == nil && res[0].Outcome == store.Committed {
			break
		}
	}
	c.await("the end", func() bool { return c.head().State.Terminal() })
}

// lateFact moves the head of a finished execution before its last runner has heard
// that the end is durable.
func lateFact(c *Cluster) {
	ms := c.open(1)
	ms[0].Link.Faults.Plan(first(commits(ends), fault.Fault{Act: fault.LoseReply}, fault.Fault{Act: fault.Slow, Delay: c.Config.Lease / 4}))
	c.begin(ms[0], flowOf(effect("pay", time.Millisecond)))
	c.Result(ms[0], raced, 0)
	c.await("the end to land", func() bool { return c.head().State.Terminal() })
	c.fact(c.head(), store.NotRefused)
	c.await("the result", func() bool { return len(c.Book.Results) == 1 })
	c.must(c.Book.Results[0].Err == nil, "the result: %v", c.Book.Results[0].Err)
}

// reader is a read-only step.
func reader(name string, takes time.Duration) Step {
	return Step{Kind: StepDo, Name: name, For: takes, Effect: &Effect{ReadOnly: true}}
}

// lostWhileWaiting keeps a node's lease from being renewed from the moment its
// intents are under way until another node has taken over, with a result of a
// read-only step that is not durable: subscribers hear once that it is lost.
func lostWhileWaiting(c *Cluster) {
	a, lease := c.open(1)[0], c.Config.Lease
	intents := first(commits(holding(event.KindEffectScheduled)), fault.Fault{Act: fault.Slow, Delay: 6 * lease / 10})
	again := c.World.Now() + 13*lease/10
	a.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if call.Op == fault.Renew && c.World.Now() < again {
			return fault.Fault{Act: fault.Fail}
		}
		return intents(call)
	})
	c.open(1)
	c.Start(a, raced, flowOf(Step{Kind: StepAll, Name: "b", Lines: [][]Step{
		{reader("read", 7*lease/10)}, {reader("watch", 5*lease)}, {effect("pay", 0)}, {effect("book", 0)}, {effect("tell", 0)}}}), 0)
	c.await("the end", func() bool { return c.head().State.Terminal() })
}

// endedByAnswer lets a commit fail beside a read-only step until the lease bound has
// passed, while the body returns: the run is over then, and commits no end under
// another nonce.
func endedByAnswer(c *Cluster) {
	a := c.open(1)[0]
	var nonce store.Nonce
	until := c.World.Now() + c.Config.Lease
	timer := commits(holding(event.KindTimerScheduled))
	a.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if timer(call) && nonce.IsZero() {
			nonce = call.Request.Nonce
		}
		if call.Op == fault.Renew && c.World.Now() < until || timer(call) && call.Request.Nonce == nonce {
			return fault.Fault{Act: fault.Fail}
		}
		return fault.Fault{Act: fault.Pass}
	})
	c.Start(a, raced, flowOf(Step{Kind: StepAll, Name: "b", Lines: [][]Step{{nap(0)}, {reader("read", 5*time.Millisecond)}}}), 0)
	c.await("the end", func() bool { return c.head().State.Terminal() })
}
