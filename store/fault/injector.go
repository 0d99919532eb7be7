package fault

import (
	"context"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/loomwork/loom/store"
)

// Chooser answers what is left to chance. Choose returns a number in [0, n);
// site names the question. An injector asks one question at a time.
type Chooser interface {
	Choose(site string, n int) int
}

// ChooserFunc is a function as a Chooser.
type ChooserFunc func(site string, n int) int

// Choose implements [Chooser].
func (f ChooserFunc) Choose(site string, n int) int { return f(site, n) }

// Seeded returns a chooser whose answers follow from the seed and the order of
// the questions. It is for one injector.
func Seeded(seed uint64) Chooser {
	pcg := rand.NewPCG(seed, 0x6661756c74)
	return ChooserFunc(func(_ string, n int) int {
		hi, _ := bits.Mul64(pcg.Uint64(), uint64(n))
		return int(hi)
	})
}

// Rates says in how many of a thousand requests each fault is made. The zero
// value makes none. Their sum over one operation must not pass 1000.
type Rates struct {
	LoseReply   int // writes
	LoseRequest int // writes
	Fail        int // writes
	FailRead    int // reads: Read, Tip, Get, List, Pending …
	FailRenew   int // Renew and Leave; beside them, the three of writes do not apply
	Slow        int // everything
	Late        int // commits
}

// Options of an injector.
type Options struct {
	// Chooser decides what is left to chance; nil makes no fault by chance.
	Chooser Chooser
	Rates   Rates
	// MaxDelay is the longest drawn delay; 0 for one second.
	MaxDelay time.Duration
	// Plan, if set, is asked about each request first. It may be called by many
	// goroutines.
	Plan func(*Call) Fault
	// Point, if set, is called before each call and after it, with after true: a
	// simulator's scheduling point. Reads are then gathered before they are
	// yielded, so that a call is one step.
	Point func(op Op, after bool)
	// Sleep waits for d or the end of ctx, and returns its cause then. With nil
	// nothing is slow or late.
	Sleep func(ctx context.Context, d time.Duration) error
	// Spawn runs fn beside the caller, and lets it sleep; with nil what would be
	// late is slow.
	Spawn func(fn func())
}

// Injector makes faults. Its methods may be called at any time.
type Injector struct {
	opts Options

	mu     sync.Mutex
	down   bool
	quiet  bool
	plan   func(*Call) Fault
	counts map[Count]int
}

// New returns an injector; o may be nil, and then only [Injector.Down] and
// [Injector.Plan] make faults.
func New(o *Options) *Injector {
	i := &Injector{counts: map[Count]int{}}
	if o != nil {
		i.opts = *o
	}
	i.plan = i.opts.Plan
	if i.opts.MaxDelay == 0 {
		i.opts.MaxDelay = time.Second
	}
	return i
}

// Down makes every call fail until it is called with false: a commit definitely
// or with an unknown outcome, by chance; nothing reaches the store. What is late
// still does.
func (i *Injector) Down(on bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = on
}

// Plan replaces the plan; nil for none.
func (i *Injector) Plan(plan func(*Call) Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.plan = plan
}

// Quiet ends all faults, for good: chance, plan and down.
func (i *Injector) Quiet() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.quiet = true
}

// Count is a fault and the operation that it was made on.
type Count struct {
	Op  Op
	Act Act
}

// Made returns how often each fault was made. The caller owns the map.
func (i *Injector) Made() map[Count]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.counts)
}

// Counts lists the keys of a count in a fixed order.
func Counts(m map[Count]int) []Count {
	return slices.SortedFunc(maps.Keys(m), func(a, b Count) int {
		if a.Op != b.Op {
			if a.Op < b.Op {
				return -1
			}
			return 1
		}
		return int(a.Act) - int(b.Act)
	})
}

// Decorator returns the decorator. One injector may decorate several stores.
func (i *Injector) Decorator() store.Decorator {
	return store.Decorator{Name: "fault", Rank: store.RankFault, Wrap: i.wrap}
}

func (i *Injector) wrap(in store.Store) store.Store {
	out := in // an observer
	out.Log = log{in.Log, i}
	if in.Index != nil {
		out.Index = index{in.Index, i}
	}
	if in.Leaser != nil {
		out.Leaser = leaser{in.Leaser, i}
	}
	if in.Inbox != nil {
		out.Inbox = inbox{in.Inbox, i}
	}
	if in.Records != nil {
		out.Records = records{in.Records, i}
	}
	if in.Deleter != nil {
		out.Deleter = deleter{in.Deleter, i}
	}
	return out
}

// fault decides about one request.
func (i *Injector) fault(c *Call) (f Fault, down bool) {
	i.mu.Lock()
	plan, quiet := i.plan, i.quiet
	i.mu.Unlock()
	if plan != nil && !quiet {
		f = plan(c)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.quiet:
		f = Fault{Act: Pass}
	case i.down:
		f, down = Fault{Act: Fail}, true
		if c.Op.writes() && i.choose("fault.down", 2) == 1 {
			f.Act = LoseRequest
		}
	case f.Act == Chance:
		f.Act = i.draw(c.Op)
	}
	if f.Act == Late && (c.Op != Commit || i.opts.Spawn == nil) {
		f.Act = Slow
	}
	if f.Act == Slow && i.opts.Sleep == nil {
		f.Act = Pass
	}
	if (f.Act == Slow || f.Act == Late) && f.Delay == 0 {
		f.Delay = i.opts.MaxDelay * time.Duration(1+i.choose("fault.delay", 16)) / 16
	}
	if f.Act == LoseReply && !c.Op.writes() {
		f.Act = Fail
	}
	if f.Act > Pass {
		i.counts[Count{c.Op, f.Act}]++
	}
	return f, down
}

// choose asks the chooser; i.mu is held.
func (i *Injector) choose(site string, n int) int {
	if i.opts.Chooser == nil {
		return 0
	}
	return i.opts.Chooser.Choose(site, n)
}

func (i *Injector) draw(op Op) Act {
	r := i.opts.Rates
	if i.opts.Chooser == nil || r == (Rates{}) {
		return Pass
	}
	x := i.opts.Chooser.Choose("fault."+string(op), 1000)
	hit := func(rate int) bool { x -= rate; return x < 0 }
	switch {
	case hit(r.Slow):
		return Slow
	case op == Renew || op == Leave:
		if hit(r.FailRenew) {
			return Fail
		}
	case !op.writes():
		if hit(r.FailRead) {
			return Fail
		}
	case hit(r.LoseReply):
		return LoseReply
	case hit(r.LoseRequest):
		return LoseRequest
	case hit(r.Fail):
		return Fail
	case op == Commit && hit(r.Late):
		return Late
	}
	return Pass
}

func (i *Injector) point(op Op, after bool) {
	if i.opts.Point != nil {
		i.opts.Point(op, after)
	}
}

// around makes one call that has an error and no other way to say unknown.
func (i *Injector) around(ctx context.Context, c *Call, do func() error) error {
	i.point(c.Op, false)
	f, down := i.fault(c)
	err := i.act(ctx, c, f, down, do)
	i.point(c.Op, true)
	return err
}

func (i *Injector) act(ctx context.Context, c *Call, f Fault, down bool, do func() error) error {
	switch f.Act {
	case Fail:
		return &Error{Op: c.Op, Act: f.Act, Down: down}
	case LoseRequest:
		return &Error{Op: c.Op, Act: f.Act, Unknown: true, Down: down}
	case Slow:
		if err := i.opts.Sleep(ctx, f.Delay); err != nil {
			return err
		}
	}
	err := do()
	if f.Act == LoseReply {
		return &Error{Op: c.Op, Act: f.Act, Unknown: true}
	}
	return err
}
