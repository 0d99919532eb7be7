package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// Config is what a cluster's run is made of; [Draw] draws one from the seed.
type Config struct {
	Nodes      int
	Executions int
	Acts       int // of chaos
	Lease      time.Duration
	Unload     time.Duration
	Scan       time.Duration
	Grace      time.Duration
	Delay      time.Duration // the longest that a store call is slow or late
	Hooks      bool
	HookTakes  time.Duration
	Clocks     bool // nodes come with wall clocks that are hours off
	Client     bool // one member more, that drives nothing
	Bare       bool // one member more, that does not know the flow
	Rich       bool // programs have compensations, clean-ups and steps with promises of their own
	Family     bool // programs have children, generations, versions and progress, and are terminated
	Rates      fault.Rates
	Nemesis    Nemesis
	// Gather lets each node gather its commits; nil for not.
	Gather *Gather
}

// Gather says how the commits of a node are gathered, see coalesce.Options.
type Gather struct {
	Linger             time.Duration
	Requests, Flushers int
}

func (g *Gather) String() string {
	if g == nil {
		return "none"
	}
	return fmt.Sprintf("%d requests, %d flushers, %v", g.Requests, g.Flushers, g.Linger)
}

// Nemesis says how often chaos does what, as shares of its acts.
type Nemesis struct {
	Crash, Pause, Suspend, Freeze, Clock, Cut, Renewals, Close int
}

// Draw draws a configuration.
func Draw(w *World) Config {
	lease := 60 * time.Millisecond << w.Decide("lease", 3)
	c := Config{
		Nodes:      1 + w.Decide("nodes", 3),
		Executions: 1 + w.Decide("executions", 6),
		Acts:       8 + w.Decide("acts", 30),
		Lease:      lease,
		Unload:     lease / time.Duration(1+w.Decide("unload", 4)),
		Scan:       lease / time.Duration(2+w.Decide("scan", 4)),
		Grace:      lease * time.Duration(1+w.Decide("grace", 3)),
		Delay:      lease * time.Duration(1+w.Decide("delay", 6)),
		Hooks:      w.Decide("hooks", 2) == 1,
		Clocks:     w.Decide("clocks", 3) == 0,
		Client:     w.Chance("client", 300),
		Bare:       w.Chance("bare", 150),
	}
	if c.Hooks && w.Decide("slow hooks", 3) == 0 {
		c.HookTakes = lease / 8
	}
	some := func(site string, most int) int {
		if w.Decide(site, 3) == 0 {
			return 0
		}
		return 1 + w.Decide(site+" much", most)
	}
	if w.Decide("faults", 4) > 0 {
		c.Rates = fault.Rates{
			LoseReply: some("lost replies", 80), LoseRequest: some("lost requests", 60), Fail: some("failures", 60),
			FailRead: some("failed reads", 60), FailRenew: some("failed renewals", 200), Slow: some("slow", 60), Late: some("late", 40),
		}
	}
	if w.Decide("nemesis", 5) > 0 {
		c.Nemesis = Nemesis{
			Crash: some("crashes", 4), Pause: some("pauses", 3), Suspend: some("suspends", 2), Freeze: some("freezes", 2),
			Clock: some("clocks", 3), Cut: some("cuts", 2), Renewals: some("renewals", 3), Close: some("closes", 2),
		}
	}
	return c
}

// DrawRich is Draw with [Config.Rich] in it.
func DrawRich(w *World) Config {
	c := Draw(w)
	c.Rich = true
	return c
}

// DrawFamily is DrawRich with [Config.Family] in it.
func DrawFamily(w *World) Config {
	c := DrawRich(w)
	c.Family = true
	return c
}

// steps is about how many steps a drawn cluster takes until it is quiet: measured over
// 600 seeds, within a third of it for two in three.
func (c *Config) steps() int64 { return int64(c.Acts * (10 + 16*c.Nodes)) }

// Cluster is nodes with runtimes over one store, what they and their clients did,
// and what became of it.
type Cluster struct {
	World   *World
	Config  Config
	Backend store.Store
	History *History
	Ledger  *Ledger
	Members []*Member
	Book    Book

	policy   Policy         // of chaos
	did      map[string]int // acts of chaos, by name
	lostOpen int            // branches that lost a race with an effect in the air
	joined   int
	drawn    int   // decisions that the configuration took
	acts     []int // at which decision each act of chaos begins
	calm     struct {
		nodes int
		steps int64
	} // how far it was when the quiet phase began
	quiet    bool
	mints    int
	during   func(m *Member, op string) // called within each effect; nil for nothing
	struck   int                        // place in the history of a sweep's blow, -1 for none
	forced   bool                       // an operator takes executions whoever owns them
	minted   map[event.ExecutionID]bool
	programs map[event.ExecutionID]Program // by chosen id
	keys     map[string]string             // idempotency key of each step
	steps    map[string]string             // step of each key
	hit      map[event.ExecutionID]bool    // executions that somebody asked to terminate: taken from living owners
	told     map[string]int                // progress of each step that was said to be durable
	writer   writer
}

var noFaults fault.Rates

// NewCluster returns a cluster without members.
func NewCluster(w *World, backend store.Store, cfg Config) *Cluster {
	c := &Cluster{World: w, Config: cfg, Backend: backend, History: NewHistory(w),
		struck: -1, policy: w.Policy(), did: map[string]int{}, minted: map[event.ExecutionID]bool{}, keys: map[string]string{}, steps: map[string]string{}, told: map[string]int{}, hit: map[event.ExecutionID]bool{}}
	if cfg.Delay > 0 {
		w.opts.MaxDelay = cfg.Delay
	}
	c.Ledger = NewLedger(c.History)
	c.Book.c = c
	c.writer = writer{w: w, lease: cfg.Lease, long: cfg.Unload, rich: cfg.Rich, family: cfg.Family}
	return c
}

// Play runs the whole story: chaos, then quiet. It is a world's main function.
func (c *Cluster) Play() {
	for range c.Config.Nodes {
		c.Join(false)
	}
	if c.Config.Client {
		c.Join(true)
	}
	if c.Config.Bare {
		c.Join(false).bare = true
	}
	c.chaos()
	c.Settle()
	c.End()
}

// up returns the members that can be used.
func (c *Cluster) up() []*Member {
	var out []*Member
	for _, m := range c.Members {
		if m.Up() {
			out = append(out, m)
		}
	}
	return out
}

// heads are the store's rows, past all links: what nobody in the world does.
func (c *Cluster) heads() []store.Head {
	var all []store.Head
	q := store.Query{Limit: 1000}
	heads, _, err := c.Backend.Index.List(c.ctx(), q)
	if err != nil {
		c.World.Fail("listing: %v", err)
	}
	// newest first; oldest first reads better
	for i := len(heads) - 1; i >= 0; i-- {
		all = append(all, heads[i])
	}
	return all
}

// log reads an execution's log past all links.
func (c *Cluster) log(id event.ExecutionID) []event.Envelope {
	var out []event.Envelope
	for e, err := range c.Backend.Log.Read(c.ctx(), id, store.Range{Strong: true}) {
		if err != nil {
			c.World.Fail("reading %s: %v", id, err)
			return nil
		}
		out = append(out, e)
	}
	return out
}

// Describe returns an execution's commits for a failure's text.
func (c *Cluster) Describe(id event.ExecutionID) string {
	var b strings.Builder
	for i := range c.History.Records {
		r := &c.History.Records[i]
		if r.Did != DidCommit || r.Execution != id {
			continue
		}
		fmt.Fprintf(&b, "%6d %v %s: %v", i, r.At, r.Node, r.Result.Outcome)
		if r.Result.Outcome == store.Refused {
			fmt.Fprintf(&b, " %v", r.Result.Refusal)
		}
		if r.Result.Again {
			b.WriteString(" again")
		}
		q := r.Request
		if q.Claim != nil {
			fmt.Fprintf(&b, ", claims (%d)", q.Claim.When)
		}
		if q.Release != nil {
			fmt.Fprintf(&b, ", releases until %v", q.Release.WakeAt)
		}
		if q.State != store.StateKeep {
			fmt.Fprintf(&b, ", %v", q.State)
		}
		fmt.Fprintf(&b, ", head %d, token %d\n", r.Result.Tip.Head, r.Result.Tip.Fence)
		for _, e := range q.Events {
			fmt.Fprintf(&b, "         %d %v %s %s\n", e.Sequence, e.Time, e.Kind, e.Payload)
		}
	}
	return b.String()
}
