package sim

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Options of a world. nil and the zero value are right for most.
type Options struct {
	// Choices answers decisions from a list, in place of the seed.
	Choices []uint32
	// Bytes, if not nil, answers decisions too: see [World.Bytes].
	Bytes []byte
	// sites answers them from lists of their own; it is used up.
	sites bySite
	// Ask keeps what was asked beside what was answered.
	Ask bool
	// Policy of the scheduler; the zero value draws one from the seed.
	Policy Policy
	// MaxSteps is how many times the token may change hands before the run fails
	// for want of progress; 0 for 500,000.
	MaxSteps int64
	// MaxDelay is the longest that chance makes a store call slow or late; 0 for a
	// second.
	MaxDelay time.Duration
	// Replay returns the command that repeats this run, for a failure's text; nil
	// for none.
	Replay func(seed uint64) string
	// Gone, if set, lets fibers call and wait on nodes that are not their own, and is
	// called on one that has to do with a node which has crashed: it calls it, or waited
	// for something of it. Gone does not return. A goroutine that is no fiber and calls
	// the world fails it.
	Gone func(n *Node, waited bool)
	// Horizon is the virtual time at which the run fails because it leads nowhere; 0 for
	// none.
	Horizon time.Duration
	// Patience is how long one step may take in real time; 0 for [patience].
	Patience time.Duration
	// Stuck, if set, is told of a step that takes longer, with the stacks of what runs,
	// and Run returns, whose goroutines are left behind then. Without it the process
	// ends.
	Stuck func(stacks string)
	// Verbose, if set, gets every line of the trace as it happens.
	Verbose func(line string)
}

// World is one simulated run. Everything in it is for the fiber that holds the
// token.
type World struct {
	seed   uint64
	opts   Options
	source source

	choices []uint32
	asked   []question // with Options.Ask
	flat    []uint32   // with Options.Ask: what the uniform policy would have to choose
	digest  uint64
	trace   trace

	now     time.Duration // since the world's beginning
	armed   int64         // timers armed, ever
	steps   atomic.Int64  // read by the watchdog too
	stored  atomic.Int64  // the store's clock, for goroutines that are no fibers
	fibers  int64         // fibers made, ever
	nodes   []*Node
	outside *Node
	store   *Clock

	sched    schedule
	site     string   // of the last await point
	runnable []*fiber // in the order in which they became so
	polled   []*watcher
	cur      *fiber
	mainDone bool
	failure  *Failure

	holder    atomic.Uintptr         // the goroutine with the token, where visitors are allowed
	foreign   atomic.Pointer[string] // the stack of a goroutine that is no fiber
	abandoned atomic.Bool            // a step does not end, and Run has returned

	home chan struct{} // the token comes back to Run
	back chan struct{} // an unwound fiber gives the token to its unwinder
}

// New returns a world. The same seed and options give the same run.
func New(seed uint64, o *Options) *World {
	w := &World{seed: seed, home: make(chan struct{}, 1), back: make(chan struct{}, 1)}
	if o != nil {
		w.opts = *o
	}
	if w.opts.MaxDelay == 0 {
		w.opts.MaxDelay = time.Second
	}
	if w.opts.MaxSteps == 0 {
		w.opts.MaxSteps = 500_000
	}
	switch {
	case w.opts.Choices != nil:
		w.source = &recorded{list: w.opts.Choices}
	case w.opts.Bytes != nil:
		w.source = &fromBytes{left: w.opts.Bytes}
	case w.opts.sites != nil:
		w.source = w.opts.sites
	default:
		w.source = newDrawn(seed)
	}
	w.sched.init(w, w.opts.Policy)
	w.store = &Clock{w: w, shown: epoch}
	w.stored.Store(int64(w.StoreNow()))
	w.outside = w.Node("outside")
	return w
}

// Seed returns the world's seed.
func (w *World) Seed() uint64 { return w.seed }

// Now is the virtual time since the world's beginning.
func (w *World) Now() time.Duration { return w.now }

// Steps is how often the token has changed hands.
func (w *World) Steps() int64 { return w.steps.Load() }

// Outside is where clients, nemeses and the workload's own fibers live: a node
// with a right clock that never crashes.
func (w *World) Outside() *Node { return w.outside }

// Run runs main on a fiber of the outside node, and then whatever can still run
// without time going on. It returns nil, or a [*Failure]: the first of a panic, a
// call of [World.Fail], no progress, a deadlock, and fibers or timers that
// outlived main. No goroutine of the world is left when it returns. A world runs
// once.
func (w *World) Run(main func()) error {
	stop := w.watch()
	defer stop()
	w.spawn(w.outside, "main", func() { main(); w.mainDone = true })
	w.hand(w.pick())
	<-w.home
	if w.abandoned.Load() {
		return &Failure{Seed: w.seed, Step: w.steps.Load(), Reason: "a step does not end"}
	}
	w.took()
	if w.failure == nil {
		w.leaks()
	}
	for _, n := range w.nodes {
		w.end(n)
	}
	if w.failure == nil {
		return nil
	}
	w.failure.Trace = w.trace.lines()
	return w.failure
}

// leaks fails a run whose main ended before its fibers did.
func (w *World) leaks() {
	var left []string
	for _, n := range w.nodes {
		if n.dead {
			continue
		}
		for _, f := range n.fibers {
			left = append(left, "fiber "+f.String())
		}
		for _, c := range n.coroutines {
			if c.state == suspended {
				left = append(left, fmt.Sprintf("coroutine %d of %s", c.id, n.name))
			}
		}
		for _, t := range n.timers {
			left = append(left, "timer of "+n.name+" for "+t.due.String())
		}
	}
	if left != nil {
		w.Fail("leaked: %s", strings.Join(left, ", "))
	}
}

// Fail fails the run: the first failure counts, and the world stops at the next
// scheduling point.
func (w *World) Fail(format string, args ...any) {
	if w.failure != nil {
		return
	}
	w.failure = &Failure{Seed: w.seed, Step: w.steps.Load(), At: w.now, Rule: ruleOf(format), Reason: fmt.Sprintf(format, args...)}
	if w.opts.Replay != nil {
		w.failure.Replay = w.opts.Replay(w.seed)
	}
	w.Note("FAIL %s", w.failure.Reason)
}

// Failed reports whether the run has failed.
func (w *World) Failed() bool { return w.failure != nil }

// Failure says how a run failed.
type Failure struct {
	Seed   uint64
	Step   int64
	At     time.Duration
	Rule   string // an oracle's id, or what the reasons of one kind have in common
	Reason string
	Replay string   // command that repeats it
	Trace  []string // the last steps
}

// ruleOf is the rule that a failure's format belongs to: an oracle's id that stands
// before a colon, or else the format's own words up to one.
func ruleOf(format string) string {
	text, _, _ := strings.Cut(format, ":")
	var words []string
	for _, word := range strings.Fields(text) {
		if !strings.Contains(word, "%") {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// shownSteps is how many of the last steps a failure's text has.
const shownSteps = 24

func (f *Failure) Error() string {
	msg := fmt.Sprintf("sim: seed %d, step %d, %v: %s", f.Seed, f.Step, f.At, f.Reason)
	if f.Replay != "" {
		msg += "\nreplay: " + f.Replay + "\nshrink: " + f.Replay + " SHRINK=1"
	}
	if n := len(f.Trace); n > 0 {
		msg += "\nlast steps:\n  " + strings.Join(f.Trace[max(0, n-shownSteps):], "\n  ")
	}
	return msg
}
