package sim

import (
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/fault"
)

// timeRaces are about deadlines, clocks and builds.
func timeRaces() []Race {
	return []Race{
		{"a cancel and a due timer on one parked execution", cancelAndTimer},
		{"race 15: a due timer and a message on one parked execution", timerAndMessage},
		{"race 16: a timer is due whose execution has an owner", ownedTimer},
		{"race 27: a node that is hours off sleeps", wrongClocks},
		{"a machine sleeps with a retry to come, and its wall clock is set back", setBack},
		{"a deadline passes while an end is on its way", overdueEnd},
		{"race 29: an old build claims, and cannot go on", oldBuild},
	}
}

// parked starts a program on one of two nodes and waits until it is parked.
func (c *Cluster) parked(p Program) []*Member {
	ms := c.open(2)
	c.begin(ms[0], p)
	c.await("a park", func() bool { return c.head().Owner == "" })
	return ms
}

// untilDue waits until about the raced execution's wake-up.
func (c *Cluster) untilDue() {
	d := c.head().WakeAt.Sub(c.World.StoreNow())
	c.World.outside.Sleep(d - time.Millisecond + c.some(2*time.Millisecond))
}

func cancelAndTimer(c *Cluster) {
	ms := c.parked(flowOf(nap(4*c.Config.Unload), effect("pay", time.Millisecond)))
	c.untilDue()
	c.Cancel(ms[1], raced, 0)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.head().Tip.Fence <= 2, "it was claimed %d times", c.head().Tip.Fence)
}

func timerAndMessage(c *Cluster) {
	ms := c.parked(flowOf(Step{Kind: StepAwait, Name: "go", Limit: true, Ignore: true, For: 4 * c.Config.Unload}, effect("pay", time.Millisecond)))
	c.untilDue()
	for _, m := range ms {
		c.Signal(m, raced, "go", "m", 0)
	}
	c.await("a call", func() bool { return c.calls() > 0 })
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() == 1, "%d calls", c.calls())
}

// ownedTimer has a timer come due while the owner sits in an effect, and the timer's
// branch lose: nobody else may fire it.
func ownedTimer(c *Cluster) {
	ms := c.open(2)
	race := Step{Kind: StepFirst, Name: "b", Lines: [][]Step{{nap(c.Config.Lease)}, {deaf("pay", c.Config.Lease+c.some(time.Millisecond)-time.Millisecond/2)}}}
	c.begin(ms[0], flowOf(race, deaf("book", 2*c.Config.Lease)))
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.head().Tip.Fence == 0 && c.calls() == 2, "token %d, %d calls", c.head().Tip.Fence, c.calls())
}

// wrongClocks sets wall clocks hours off, each way, before and after the deadline is
// set. Nothing is early, which the oracles see, and nothing is late by more than a
// few looks.
func wrongClocks(c *Cluster) {
	ms := c.open(2)
	ms[0].Node.wall.Jump(2 * time.Hour * time.Duration(c.World.Decide("jump", 3)-1))
	ms[1].Node.wall.Jump(2 * time.Hour * time.Duration(c.World.Decide("jump", 3)-1))
	starter := ms[0]
	if c.World.Decide("client", 2) == 0 { // its clock is off before it has seen the store's
		starter = c.Join(true)
		starter.Node.wall.Jump(2 * time.Hour)
		c.await("a client to open", starter.Up)
	}
	c.begin(starter, flowOf(nap(4*c.Config.Unload), effect("pay", time.Millisecond)))
	ms[0].Node.wall.Jump(2 * time.Hour * time.Duration(c.World.Decide("jump", 3)-1))
	began := c.World.Now()
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.World.Now()-began < 4*c.Config.Unload+6*c.Config.Lease, "it took %v", c.World.Now()-began)
}

// setBack suspends a machine whose next attempt is set and durable, sets its wall clock
// back, and lets it go on once another node has the execution: neither of its clocks shows
// how long it slept.
func setBack(c *Cluster) {
	a := c.open(1)[0]
	retried := Step{Kind: StepDo, Name: "pay", Ignore: true, Effect: &Effect{Flaky: 1000, Attempts: 3, Initial: c.Config.Lease / 6}}
	c.begin(a, flowOf(retried, effect("book", time.Millisecond)))
	c.await("a failed attempt", func() bool { return c.has(event.KindEffectAttemptFailed) })
	c.World.outside.Sleep(c.some(c.Config.Lease / 12))
	a.Node.Pause()
	a.Node.mono.Freeze(true)
	a.Node.wall.Jump(-2 * time.Hour)
	c.open(1)
	c.await("a takeover", func() bool { return c.head().Tip.Fence == 1 })
	a.Node.mono.Freeze(false)
	a.Node.Resume()
	c.await("the end", func() bool { return c.head().State.Terminal() })
}

// oldBuild parks an execution on a right build; an old one, alone for a while, claims
// it, diverges, lets it go and does not take it again; the right one comes back.
func oldBuild(c *Cluster) {
	a := c.open(1)[0]
	c.begin(a, flowOf(effect("pay", time.Millisecond), nap(4*c.Config.Unload), effect("book", time.Millisecond)))
	c.await("a park", func() bool { return c.has(event.KindTimerScheduled) && c.head().Owner == "" })
	a.Close()
	old := c.join(false, true)
	c.await("the old build to open", old.Up)
	c.await("a divergence", func() bool { return len(old.diverged) > 0 })
	c.World.outside.Sleep(20 * c.Config.Lease)
	c.must(len(old.diverged) == 1, "the old build tried %d times", len(old.diverged))
	h := c.head()
	c.must(h.Owner == "" && h.Tip.Head == 3 && c.calls() == 1, "the old build left it to %q at %d after %d calls", h.Owner, h.Tip.Head, c.calls())
	c.open(1)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() == 2, "%d calls", c.calls())
}

// oldBody is the body of a build that is older than what it finds: it asks for
// something that the log does not have.
func (m *Member) oldBody(ctx loom.Context, in Program) (string, error) {
	if err := loom.Sleep(ctx, "older", 0); err != nil {
		return "", err
	}
	return m.body(ctx, in)
}

// overdueEnd keeps a commit on its way, beside a read-only effect, until the body has
// ended and its deadline has passed: the driver waits for the answer and does not
// spin, which would be no progress.
func overdueEnd(c *Cluster) {
	a := c.open(1)[0]
	a.Link.Faults.Plan(first(commits(holding(event.KindTimerScheduled)), fault.Fault{Act: fault.Slow, Delay: c.Config.Lease}))
	read := Step{Kind: StepDo, Name: "read", For: 5 * time.Millisecond, Effect: &Effect{ReadOnly: true}}
	soon := loom.Deadline(c.World.StoreNow().Time().Add(c.Config.Lease / 2))
	both := Step{Kind: StepAll, Name: "b", Lines: [][]Step{{nap(0)}, {read}}}
	c.Start(a, raced, flowOf(both), 0, soon)
	c.await("the end", func() bool { return c.head().State.Terminal() })
}
