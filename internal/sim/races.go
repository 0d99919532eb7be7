package sim

import (
	"slices"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// Race is one of the interleavings that the design was tried against, played by
// runtimes: faults put the acts into the order that matters, and the seed shuffles
// everything else. The oracles judge it like any run.
type Race struct {
	Name string // its number in the list of promises, and what it is
	Play func(c *Cluster)
}

// Races returns the list.
func Races() []Race {
	return slices.Concat(startRaces(), scheduleRaces(), ownerRaces(), mailRaces(), timeRaces())
}

// Story is how a race is run over a store.
func (r *Race) Story(open Open) *Story {
	return &Story{Open: open, Directed: true, Config: func(*World) Config { return plain }, Play: func(c *Cluster) {
		r.Play(c)
		if !c.World.Failed() {
			c.Settle()
			c.End()
		}
	}}
}

// plain is a small cluster without faults of its own.
var plain = Config{Nodes: 2, Executions: 1, Lease: 60 * time.Millisecond, Unload: 30 * time.Millisecond,
	Scan: 15 * time.Millisecond, Grace: 60 * time.Millisecond, Delay: 60 * time.Millisecond, Hooks: true}

// raced is the execution that races are about.
const raced = event.ExecutionID("x0")

// open joins n members and waits for them.
func (c *Cluster) open(n int) []*Member {
	var out []*Member
	for range n {
		m := c.Join(false)
		c.await("a runtime to open", m.Up)
		out = append(out, m)
	}
	return out
}

// await waits until is says so; a minute is too long.
func (c *Cluster) await(what string, is func() bool) {
	for i := 0; !is(); i++ {
		if i > 60_000 || c.World.Failed() {
			c.World.Fail("waited in vain for %s\n%s", what, c.Describe(raced))
			return
		}
		c.World.outside.Sleep(time.Millisecond)
	}
}

// head is the raced execution's row.
func (c *Cluster) head() store.Head {
	h, ok, err := c.Backend.Index.Get(c.ctx(), raced)
	if err != nil {
		c.World.Fail("get: %v", err)
	}
	if !ok {
		h.Tip = store.Absent()
	}
	return h
}

// has reports whether the raced log has an event of a kind.
func (c *Cluster) has(k event.Kind) bool {
	for _, e := range c.log(raced) {
		if e.Kind == k {
			return true
		}
	}
	return false
}

// calls counts the calls of the raced execution's effects.
func (c *Cluster) calls() int {
	n := 0
	for _, call := range c.Ledger.Calls {
		if call.Execution == raced && !call.ReadOnly {
			n++
		}
	}
	return n
}

// must fails the run unless ok.
func (c *Cluster) must(ok bool, format string, args ...any) {
	if !ok {
		c.World.Fail(format+"\n%s", append(args, c.Describe(raced))...)
	}
}

// first makes faults of the first calls that are asked for, in their order, and lets
// everything else pass.
func first(which func(*fault.Call) bool, faults ...fault.Fault) func(*fault.Call) fault.Fault {
	n := 0
	return func(call *fault.Call) fault.Fault {
		if n == len(faults) || !which(call) {
			return fault.Fault{Act: fault.Pass}
		}
		n++
		return faults[n-1]
	}
}

// commits of the raced execution of which is holds.
func commits(is func(*store.Request) bool) func(*fault.Call) bool {
	return func(call *fault.Call) bool {
		return call.Op == fault.Commit && call.Execution == raced && is(call.Request)
	}
}

func starts(r *store.Request) bool   { return !r.Expect.Exists() }
func claims(r *store.Request) bool   { return r.Expect.Exists() && r.Claim != nil }
func releases(r *store.Request) bool { return r.Expect.Exists() && r.Release != nil }
func ends(r *store.Request) bool     { return r.State.Terminal() }

// holding is a commit that holds an event of a kind.
func holding(k event.Kind) func(*store.Request) bool {
	return func(r *store.Request) bool {
		for i := range r.Events {
			if r.Events[i].Kind == k {
				return true
			}
		}
		return false
	}
}

// Steps of the races' programs.

func effect(name string, takes time.Duration) Step {
	return Step{Kind: StepDo, Name: name, For: takes, Effect: &Effect{}}
}

func deaf(name string, takes time.Duration) Step {
	return Step{Kind: StepDo, Name: name, For: takes, Effect: &Effect{Deaf: true}}
}

func nap(d time.Duration) Step { return Step{Kind: StepSleep, Name: "nap", For: d} }

func mail(name string) Step { return Step{Kind: StepAwait, Name: name} }

func flowOf(steps ...Step) Program { return Program{Steps: steps} }
