package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// unbounded is a bound that no tale here reaches.
const unbounded = 99

// Tales returns the list.
func Tales() []Tale {
	return []Tale{
		{Name: "two starters", Bound: unbounded, Fibers: 2, Play: starters(2), Check: startedOnce},
		{Name: "three starters", Bound: 2, Fibers: 1, Play: starters(3), Check: startedOnce},
		{Name: "two starters, one answer or request lost", Bound: unbounded, Fibers: 1, Mishaps: 1, Play: deafStarters, Check: startedOnce},
		{Name: "two starters, up to four answers lost in a row", Bound: 1, Mishaps: 1, Play: deaferStarters, Check: startedOnce},
		{Name: "a starter's caller gives up, and it is started again", Bound: 2, Fibers: 1, Mishaps: 1, Play: givenUp, Check: startedAgain},
		{Name: "a starter is paused and recovered", Bound: 3, Mishaps: 1, Play: pausedStarter, Check: ownedCalls},
		{Name: "a starter's lease lapses in its effect", Bound: 4, Fibers: 1, Play: lapsedStarter, Check: ownedCalls},
		{Name: "two nodes wake one timer", Bound: unbounded, Fibers: 1, Play: wakers(2), Check: wokenOnce},
		{Name: "three nodes wake one timer", Bound: 2, Fibers: 1, Play: wakers(3), Check: wokenOnce},
		{Name: "three nodes wake one timer and one dies", Bound: 1, Mishaps: 1, Play: dyingWakers, Check: ownedCalls},
		{Name: "a message comes while its receiver parks", Bound: 4, Fibers: 1, Mishaps: 1, Play: mailAt(flowOf(append([]Step{mail("go")}, work().Steps...)...)), Check: receivedOnce},
		{Name: "a message comes while its receiver ends", Bound: 4, Fibers: 1, Mishaps: 1, Play: mailAt(work()), Check: receivedNever},
		{Name: "an end is deleted, started again and written to", Bound: 3, Fibers: 1, Play: deletedUnder},
		{Name: "a survivor of a deleted execution comes back", Bound: 2, Mishaps: 1, Play: survivor},
	}
}

// work is a body of two effects that take no time: all of a tale is one instant
// then, and any call may come before any other.
func work() Program { return flowOf(effect("pay", 0), effect("book", 0)) }

// starters has n nodes start one id at the same instant, the second with the same
// input or with another.
func starters(n int) func(c *Cluster) {
	return func(c *Cluster) {
		ms := c.open(n)
		c.Explore()
		other := work()
		other.Salt = c.pick(2)
		for i, m := range ms {
			p := work()
			if i == 1 {
				p = other
			}
			c.Start(m, raced, p, 0)
		}
		c.World.outside.Sleep(c.Config.Scan / 2)
	}
}

// startedOnce: one of the starts won, the others were told who did, and each effect
// was called once.
func startedOnce(c *Cluster) error {
	won := 0
	for _, s := range c.Book.Starts {
		switch {
		case s.Err == nil:
			won++
		case !alreadyExists(s.Err):
			return fmt.Errorf("start %d was told %v", s.Number, s.Err)
		}
	}
	if n := c.calls(); won != 1 || n != 2 || len(c.Ledger.Entries) != 1 {
		return fmt.Errorf("%d starts won, %d bodies entered, %d calls", won, len(c.Ledger.Entries), n)
	}
	return nil
}

// deafStarters is two starters with one answer, or one request, lost on its way.
func deafStarters(c *Cluster) {
	ms := c.open(2)
	for _, m := range ms {
		m.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
			if call.Op == fault.Commit {
				switch c.mishap(2) {
				case 1:
					return fault.Fault{Act: fault.LoseReply}
				case 2:
					return fault.Fault{Act: fault.LoseRequest}
				}
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

// atScan calls fn on a node of its own, at the instant of m's first look at what is
// runnable once ready says so: from then on m and whom fn lets go on are interleaved.
func (c *Cluster) atScan(m *Member, ready func() bool, fn func()) {
	warden, armed := c.World.Node("warden"), false
	m.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if call.Op == fault.Runnable && !armed && ready() {
			armed = true
			c.World.spawn(warden, "warden", fn)
		}
		return fault.Fault{Act: fault.Pass}
	})
}

// pausedStarter stops the starter at each of its await points until its lease has
// lapsed and another node looks for work.
func pausedStarter(c *Cluster) {
	ms := c.open(2)
	a, since := ms[0].Node, c.World.Now()
	a.each = func() {
		if c.mishap(1) == 1 {
			a.Pause()
			since = c.World.Now()
		}
	}
	c.atScan(ms[1], func() bool { return a.paused && c.World.Now()-since > c.Config.Lease }, a.Resume)
	c.Explore()
	c.Start(ms[0], raced, work(), 0)
	c.World.outside.Sleep(3 * c.Config.Lease)
}

// lapsedStarter keeps the starter, which goes on all the while, from renewing its
// lease, and its first effect from returning before another node looks for work.
func lapsedStarter(c *Cluster) {
	ms := c.open(2)
	back := ms[0].Node.NewLatch()
	c.during = func(m *Member, _ string) {
		if m == ms[0] {
			_ = back.Wait(context.Background())
		}
	}
	ms[0].Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if call.Op == fault.Renew && !back.Opened() {
			return fault.Fault{Act: fault.Fail}
		}
		return fault.Fault{Act: fault.Pass}
	})
	from := c.World.Now()
	c.atScan(ms[1], func() bool { return c.World.Now()-from > c.Config.Lease }, back.Open)
	c.Explore()
	c.Start(ms[0], raced, work(), 0)
	c.World.outside.Sleep(3 * c.Config.Lease)
}

// ownedCalls: no more calls than there are steps and changes of owner, and no more
// bodies than owners.
func ownedCalls(c *Cluster) error {
	changes := int(c.head().Tip.Fence)
	if n := c.calls(); n < 2 && c.head().Tip.Exists() || n > 2+changes || len(c.Ledger.Entries) > 1+changes {
		return fmt.Errorf("%d bodies and %d calls under token %d", len(c.Ledger.Entries), n, changes)
	}
	return nil
}

// wakers has n nodes find one timer due at the same instant.
func wakers(n int) func(c *Cluster) {
	return func(c *Cluster) { c.wake(c.open(n)) }
}

// dyingWakers lets one of the nodes that wake a timer die at each of its await points.
func dyingWakers(c *Cluster) {
	ms := c.open(3)
	for _, m := range ms[:2] {
		m.Node.each = func() {
			if c.mishap(1) == 1 {
				m.Node.Crash()
			}
		}
	}
	c.wake(ms)
}

// wake starts an execution that sleeps until it is parked, and keeps every node's next
// look at what is runnable on its way to the store until it is due: then all of them
// look at one instant.
func (c *Cluster) wake(ms []*Member) {
	c.begin(ms[0], flowOf(nap(4*c.Config.Unload), effect("pay", 0), effect("book", 0)))
	c.await("a park", func() bool { return c.head().Owner == "" })
	due := c.World.Now() + c.head().WakeAt.Sub(c.World.StoreNow()) + time.Millisecond/2
	for _, m := range ms {
		m.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
			if left := due - c.World.Now(); call.Op == fault.Runnable && left > 0 && left <= c.Config.Scan {
				return fault.Fault{Act: fault.Slow, Delay: left}
			}
			return fault.Fault{Act: fault.Pass}
		})
	}
	c.World.outside.Sleep(due - c.World.Now() - time.Microsecond)
	c.Explore()
	c.World.outside.Sleep(c.Config.Scan / 2)
}

// wokenOnce: one node got it, and each effect was called once.
func wokenOnce(c *Cluster) error {
	fired := 0
	for _, e := range c.log(raced) {
		if e.Kind == event.KindTimerFired {
			fired++
		}
	}
	if n := c.calls(); fired != 1 || n != 2 || c.head().Tip.Fence != 1 {
		return fmt.Errorf("fired %d times, %d calls, token %d", fired, n, c.head().Tip.Fence)
	}
	return nil
}

// mailAt sends a message from another node at each await point of a node that plays
// p, and again in the end if it came before there was anybody to take it.
func mailAt(p Program) func(c *Cluster) {
	return func(c *Cluster) {
		ms := c.open(2)
		ms[0].Node.each = func() {
			if c.mishap(1) == 1 {
				c.Signal(ms[1], raced, "go", "m", 0)
			}
		}
		c.Explore()
		c.Start(ms[0], raced, p, 0)
		c.World.outside.Sleep(c.Config.Unload * 3 / 2)
		if s := c.Book.Signals; len(s) == 0 || errors.Is(s[0].Err, loom.ErrNotFound) {
			c.Signal(ms[1], raced, "go", "m", 0)
		}
	}
}

// receivedOnce: one message is one event, whatever it met.
func receivedOnce(c *Cluster) error { return c.received(1) }

func receivedNever(c *Cluster) error { return c.received(0) }

func (c *Cluster) received(want int) error {
	got := 0
	for _, e := range c.log(raced) {
		if e.Kind == event.KindMessageReceived {
			got++
		}
	}
	if n := c.calls(); got != want || n != 2 {
		return fmt.Errorf("received %d times, %d calls", got, n)
	}
	return nil
}

// deletedUnder has an operator delete an execution that has ended, a node start its
// id again, and somebody write a late fact to the end that he saw: without a mark,
// so that only the incarnation tells him from one who knows the new one.
func deletedUnder(c *Cluster) {
	m := c.open(1)[0]
	c.begin(m, work())
	c.await("the end", func() bool { return c.head().State.Terminal() })
	old := c.head()
	clear(c.keys) // the next incarnation's keys are others
	clear(c.steps)
	before := c.calls()
	operator, late := c.World.Node("operator"), c.World.Node("late")
	door, window := operator.Connect(c.Backend, c.History, noFaults, nil), late.Connect(c.Backend, c.History, noFaults, nil)
	c.Explore()
	operator.Go("delete", func() {
		q := store.Request{Execution: raced, Expect: old.Tip, Seen: old.Mail, Claim: &store.Claim{When: store.AtEnd}, State: store.StateDeleting}
		for done := false; !done; {
			operator.Random(q.Nonce[:])
			res, err := door.Store.Log.Commit(c.ctx(), q)
			if err != nil || res[0].Outcome != store.Committed { // the late fact was first
				q.Expect = res[0].Tip
				continue
			}
			for !done && err == nil {
				done, err = door.Store.Deleter.Delete(c.ctx(), raced, res[0].Tip)
			}
			c.must(err == nil, "deleting: %v", err)
		}
	})
	late.Go("fact", func() {
		for i := range 3 {
			expect := old.Tip
			expect.Mark = store.Nonce{}
			q := store.Request{Execution: raced, Expect: expect,
				Events: []event.Envelope{event.New(raced, expect.Head+1, c.World.StoreNow(), event.Unknown{Name: "REWARD_NOTED", Raw: []byte("{}")}, nil)}}
			late.Random(q.Nonce[:])
			res, err := window.Store.Log.Commit(c.ctx(), q)
			c.must(err == nil, "a late fact: %v", err)
			if res[0].Outcome == store.Committed {
				c.must(res[0].Tip.Anchor == old.Tip.Anchor, "a late fact %d landed on another incarnation", i)
				return
			}
		}
	})
	m.Do("start", 0, func(ctx context.Context) {
		for c.calls() == before {
			c.Start(m, raced, work(), 0)
			m.Node.Sleep(c.Config.Lease / 8)
		}
	}, nil)
	c.World.outside.Sleep(c.Config.Lease)
	c.await("the second end", func() bool { return c.head().State.Terminal() && c.head().Tip.Anchor != old.Tip.Anchor })
	c.must(c.calls() == before+2, "%d calls", c.calls()-before)
}
