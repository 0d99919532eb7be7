package sim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/fault"
)

// Golden is a flow that is swept: run once without faults, then once more for every
// place at which something can go wrong, with that going wrong.
type Golden struct {
	Name    string
	Program Program
	Minted  bool
	Options func(c *Cluster) []loom.StartOption // nil for none
	Acts    func(c *Cluster, helper *Member)    // what else happens; nil for nothing
}

// Goldens returns the list, one for each group of verbs.
func Goldens() []Golden {
	pay := func(e Effect) Step { return Step{Kind: StepDo, Name: "pay", For: 2 * time.Millisecond, Effect: &e} }
	undo := func(name string) Step {
		return Step{Kind: StepUndo, Name: name, For: 2 * time.Millisecond, Effect: &Effect{Flaky: 300, Attempts: 3, Initial: 2 * time.Millisecond}}
	}
	show := func(key, value string) Step { return Step{Kind: StepShow, Name: key, Value: value} }
	clean := func(line ...Step) Step { return Step{Kind: StepClean, Name: "clean", Lines: [][]Step{line}} }
	cancel := func(after time.Duration) func(c *Cluster, helper *Member) {
		return func(c *Cluster, helper *Member) {
			c.World.outside.Sleep(after)
			c.Cancel(helper, raced, 0)
		}
	}
	return []Golden{
		{Name: "steps", Program: flowOf(pay(Effect{}), pay(Effect{ReadOnly: true}), Step{Kind: StepValues}, pay(Effect{}))},
		{Name: "minted-start", Minted: true, Program: flowOf(pay(Effect{}), pay(Effect{}))},
		{Name: "retries", Program: flowOf(pay(Effect{Attempts: 4, Flaky: 600, Initial: 8 * time.Millisecond}), pay(Effect{Timeout: time.Millisecond, Attempts: 2}))},
		{Name: "sleeps", Program: flowOf(nap(5*time.Millisecond), nap(3*plain.Unload), pay(Effect{}))},
		{Name: "messages", Program: flowOf(mail("go"), mail("go"), Step{Kind: StepAwait, Name: "pay", Limit: true, For: 10 * time.Millisecond, Ignore: true}, pay(Effect{})),
			Acts: func(c *Cluster, helper *Member) {
				for _, id := range []string{"a", "b", "a"} {
					c.Signal(helper, raced, "go", id, 0)
					c.World.outside.Sleep(plain.Unload + 5*time.Millisecond)
				}
			}},
		{Name: "branches", Program: flowOf(
			Step{Kind: StepAll, Name: "all", Lines: [][]Step{{pay(Effect{}), pay(Effect{})}, {pay(Effect{Deaf: true})}, {nap(3 * time.Millisecond), pay(Effect{})}}},
			Step{Kind: StepFirst, Name: "one", Lines: [][]Step{{deaf("slow", 20*time.Millisecond)}, {nap(4 * time.Millisecond)}}}, pay(Effect{}))},
		{Name: "cancel", Program: flowOf(Step{Kind: StepDefer, Name: "last", Effect: &Effect{}}, pay(Effect{}), deaf("charge", 15*time.Millisecond), nap(5*plain.Unload)),
			Acts: cancel(8 * time.Millisecond)},
		{Name: "cancelled-sleep", Program: flowOf(nap(8 * plain.Unload)), Acts: cancel(2 * plain.Unload)},
		{Name: "deadline-and-delay", Program: flowOf(pay(Effect{}), nap(20*plain.Unload)), Options: func(c *Cluster) []loom.StartOption {
			return []loom.StartOption{loom.Delay(10 * time.Millisecond), loom.Deadline(c.World.StoreNow().Time().Add(3 * plain.Unload))}
		}},
		{Name: "promises", Program: flowOf(pay(Effect{Once: true}), pay(Effect{Asks: true}), pay(Effect{Once: true}), pay(Effect{}))},
		{Name: "undone", Program: flowOf(undo("a"), pay(Effect{}), undo("b"), pay(Effect{Asks: true}), clean(nap(3*plain.Unload), pay(Effect{})), nap(3*time.Millisecond), Step{Kind: StepFail})},
		{Name: "children", Program: flowOf(Step{Kind: StepChild, Child: &Program{Steps: []Step{pay(Effect{})}}, Wait: true},
			Step{Kind: StepChild, Child: &Program{Steps: []Step{nap(2 * plain.Unload), pay(Effect{})}}}, pay(Effect{}))},
		{Name: "generations", Program: Program{Steps: []Step{undo("a"), clean(pay(Effect{})), pay(Effect{}), nap(3 * plain.Unload)}, Again: 2}},
		{Name: "generations-and-a-cancel", Program: Program{Steps: []Step{clean(pay(Effect{})), pay(Effect{})}, Again: 8}, Acts: cancel(8 * time.Millisecond)},
		{Name: "versions", Program: flowOf(Step{Kind: StepBuild, Name: "s0"}, pay(Effect{Tells: true, Attempts: 3, Flaky: 500}), Step{Kind: StepBuild, Name: "s1"}, pay(Effect{Tells: true}))},
		{Name: "shows", Program: flowOf(show("stage", "new"), show("one", "1"), show("left", "much"), pay(Effect{}), show("stage", "paid"), show("two", "2"),
			show("left", ""), nap(3*plain.Unload), pay(Effect{ReadOnly: true}), show("stage", "slept"), show("three", "3"), pay(Effect{}), show("two", ""), show("stage", "shipped"),
			show("two", "4"))},
		{Name: "cleaned", Program: flowOf(undo("a"), clean(nap(2*time.Millisecond)), pay(Effect{}))},
		{Name: "undone-after-a-cancel", Program: flowOf(undo("a"), clean(pay(Effect{}), nap(4*time.Millisecond)), undo("b"), deaf("charge", 15*time.Millisecond), nap(5*plain.Unload)),
			Acts: cancel(8 * time.Millisecond)},
		{Name: "panic", Program: flowOf(pay(Effect{Flaky: 1000, Panics: true}), Step{Kind: StepPanic})},
	}
}

// Sort is one kind of thing that goes wrong in a sweep.
type Sort string

// Sorts.
const (
	SweepCrash Sort = "crash" // at the k-th await point of the node
	SweepPause Sort = "pause" // there too, for longer than a lease
	SweepReply Sort = "reply" // of the node's k-th write is lost
	SweepLost  Sort = "lost"  // the k-th write itself
	SweepFail  Sort = "fail"  // the k-th store call fails

	SweepShort   Sort = "short"   // a pause that a lease survives
	SweepSuspend Sort = "suspend" // a pause during which the monotonic clock stands still
	SweepAhead   Sort = "ahead"   // the node's wall clock jumps two hours ahead
	SweepBehind  Sort = "behind"  // or back
	SweepGate    Sort = "gate"    // the node's k-th write is held back for longer than a lease
	SweepDeaf    Sort = "deaf"    // of the k-th write and the three after it the answers are lost
)

// Sorts returns the list.
func Sorts() []Sort {
	return []Sort{SweepCrash, SweepPause, SweepReply, SweepLost, SweepFail, SweepShort, SweepSuspend, SweepAhead, SweepBehind, SweepGate, SweepDeaf}
}

// strike is what a sort does at an await point of n; nil if it does something to a
// store call.
func (s Sort) strike(c *Cluster, n *Node) func() {
	pause := func(d time.Duration) {
		n.Pause()
		c.World.outside.After(d, n.Resume)
	}
	switch s {
	case SweepCrash:
		return n.Crash
	case SweepPause:
		return func() { pause(3 * c.Config.Lease) }
	case SweepShort:
		return func() { pause(c.Config.Lease / 2) }
	case SweepSuspend:
		return func() {
			n.mono.Freeze(true)
			c.World.outside.After(3*c.Config.Lease, func() { n.mono.Freeze(false) })
			pause(3 * c.Config.Lease)
		}
	case SweepAhead:
		return func() { n.wall.Jump(2 * time.Hour) }
	case SweepBehind:
		return func() { n.wall.Jump(-2 * time.Hour) }
	}
	return nil
}

// play is the golden flow with the k-th thing going wrong on the node that begins
// it; nothing for k = 0. ends is called, on that node's side, when the flow first
// rests: what can be counted by then is what there is to sweep.
func (g *Golden) play(c *Cluster, sort Sort, k int64, counted func(n int64)) {
	a, helper := c.open(1)[0], c.open(1)[0]
	n := a.Node
	from, calls := n.Points(), int64(0)
	strike := sort.strike(c, n)
	if k > 0 && strike != nil {
		n.AtPoint(from+k, func() {
			c.struck = c.History.Pos()
			strike()
		})
	}
	a.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		f := fault.Fault{Act: fault.Pass}
		switch write := call.Op == fault.Commit || call.Op == fault.Renew; {
		case sort == SweepReply && write:
			if calls++; calls == k {
				f.Act = fault.LoseReply
			}
		case sort == SweepDeaf && write:
			if calls++; k > 0 && calls >= k && calls < k+4 {
				f.Act = fault.LoseReply
			}
		case sort == SweepGate && write:
			if calls++; calls == k {
				f = fault.Fault{Act: fault.Slow, Delay: 3 * c.Config.Lease}
			}
		case sort == SweepLost && write:
			if calls++; calls == k {
				f.Act = fault.LoseRequest
			}
		case sort == SweepFail:
			if calls++; calls == k {
				f.Act = fault.Fail
			}
		}
		return f
	})
	id := raced
	if g.Minted {
		id = ""
	}
	var opts []loom.StartOption
	if g.Options != nil {
		opts = g.Options(c)
	}
	c.Start(a, id, g.Program, 0, opts...)
	if g.Acts != nil {
		c.World.outside.Sleep(3 * time.Millisecond)
		g.Acts(c, helper)
	}
	c.World.outside.Sleep(c.Config.Lease)
	if counted != nil {
		n := n.Points() - from
		if strike == nil {
			n = calls
		}
		counted(n)
	}
	if !g.Minted && !c.head().Tip.Exists() && helper.Up() {
		c.begin(helper, g.Program) // the trigger is repeated
	}
	c.Settle()
	c.End()
}

// at is the story in which the k-th thing of a sort goes wrong.
func (g *Golden) at(open Open, sort Sort, k int64, counted func(int64)) *Story {
	return &Story{Open: open, Once: k > 0, Test: "TestSimSweep", Place: fmt.Sprintf("%s,%s,%d", g.Name, sort, k),
		Config: func(*World) Config { return plain }, Play: func(c *Cluster) { g.play(c, sort, k, counted) }}
}

// Sweep runs all places of one sort, or with a stride above 1 one in so many, and
// returns how many it ran.
func (g *Golden) Sweep(open Open, sort Sort, seed uint64, stride int64, until time.Time) (ran, places int64, err error) {
	if _, err := g.at(open, sort, 0, func(n int64) { places = n }).Seed(seed); err != nil {
		return 0, 0, err
	}
	for k := 1 + int64(seed)%stride; k <= places; k += stride {
		if time.Now().After(until) {
			return ran, places, nil
		}
		if _, err := g.at(open, sort, k, nil).Seed(seed); err != nil {
			return ran, places, fmt.Errorf("%s at %d of %d in %s: %w", sort, k, places, g.Name, err)
		}
		ran++
	}
	return ran, places, nil
}

// SweepAll sweeps every golden flow with every sort, and again under other seeds
// until a share, in parts of a hundred, of the package's budget is spent. With a
// stride, a round takes one place in so many. With LOOM_SIM_SEED set it runs the one
// place that LOOM_SIM_PLACE names.
func SweepAll(t *testing.T, open Open, share int, stride int64) {
	t.Helper()
	if os.Getenv("LOOM_SIM_SEED") != "" {
		sweepOne(t, open)
		return
	}
	end := time.Now().Add(Budget() * time.Duration(share) / 100)
	rounds, ran := 0, int64(0)
	for seed := First(); rounds == 0 || time.Now().Before(end); seed++ {
		for _, sort := range Sorts() {
			for _, g := range Goldens() {
				if ran > 0 && time.Now().After(end) {
					break
				}
				n, _, err := g.Sweep(open, sort, seed, stride, end)
				if err != nil {
					t.Fatal(err)
				}
				ran += n
			}
		}
		rounds++
	}
	t.Logf("%d places in %d rounds of stride %d", ran, rounds, stride)
	t.Logf("tally: fault_places=%d", ran)
}

func sweepOne(t *testing.T, open Open) {
	t.Helper()
	at := strings.Split(os.Getenv("LOOM_SIM_PLACE"), ",")
	if len(at) != 3 {
		t.Skip("LOOM_SIM_PLACE names no place")
	}
	k, err := strconv.ParseInt(at[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range Goldens() {
		if g.Name == at[0] {
			g.at(open, Sort(at[1]), k, nil).one(t)
		}
	}
}
