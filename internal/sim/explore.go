package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tale is a small story of which every order is played, up to a bound: between
// [Cluster.Explore] and the end of its play the scheduler's choices are enumerated
// and not drawn. All other decisions take their first option, and nodes have the
// randomness of one seed.
type Tale struct {
	Name string
	// Bound is how often a node may be interrupted that could have gone on, and Fibers
	// how often first come, first served is departed from where fibers are scheduled.
	Bound, Fibers int
	// Mishaps is how many of those that the tale offers happen in one run.
	Mishaps int
	// Play is the world's main function.
	Play func(c *Cluster)
	// Check is asked once a run is over, beside the oracles; nil for nothing.
	Check func(c *Cluster) error
}

// Explorer goes through the orders of a [Tale], depth first. It stores nothing but
// the choices of the run at hand.
//
// The unit that is scheduled is a node. One that runs goes on, its own fibers first
// come first served, until all of them wait or it is interrupted. To interrupt it
// costs one of the bound, and happens right before one of its store calls and
// nowhere else: between two calls a node touches its own memory alone, so that the
// same calls in the same order give the same run wherever between them the others
// went. The call itself is one step. Once a node can do nothing, each other one that
// can is tried, for free. Fibers of the outside come first and are no choice: they
// touch no store while orders are enumerated. Time moves when no node can do
// anything, so that what is to be interleaved has to be due at one instant. With a
// bound that is never reached these are all orders of the store calls of an instant,
// for this one order of the fibers within a node.
type Explorer struct {
	Open Open
	// Fibers says to schedule fibers in place of nodes, and to interrupt them wherever
	// they let go of the token, a wait included. Each departure from first come, first
	// served costs one of [Tale.Fibers], also where a fiber waits: for free there would
	// be no end of them.
	Fibers bool
	// Limit is the most runs; more are an error. 0 for a million.
	Limit int64
	// Seen, if set, gets each run that passed.
	Seen func(c *Cluster)
}

// Explored is what an exploration did.
type Explored struct {
	Runs, Steps int64
	Deepest     int // choices of the longest run
}

// Tell runs every order of a tale, and judges each. The error of the first that fails
// says how to run it again.
func (x *Explorer) Tell(t *Tale) (Explored, error) {
	var did Explored
	s := &search{tale: t, fibers: x.Fibers}
	for more := true; more; more = s.next() {
		if did.Runs == x.limit() {
			return did, fmt.Errorf("sim: %s: cut off after %d orders", t.Name, did.Runs)
		}
		c, err := x.once(s, nil)
		if err != nil {
			return did, fmt.Errorf("%w\nthe order is %s", err, s.spell())
		}
		did.Runs++
		did.Steps += c.World.Steps()
		did.Deepest = max(did.Deepest, s.depth)
		if x.Seen != nil {
			x.Seen(c)
		}
	}
	return did, nil
}

func (x *Explorer) limit() int64 {
	if x.Limit > 0 {
		return x.Limit
	}
	return 1_000_000
}

// Again runs the one order that the text of a failure names, and tells all.
func (x *Explorer) Again(t *Tale, order string, say func(string)) error {
	s := &search{tale: t, fibers: x.Fibers}
	if err := s.parse(order); err != nil {
		return err
	}
	_, err := x.once(s, say)
	return err
}

// once plays the order that s stands at.
func (x *Explorer) once(s *search, say func(string)) (*Cluster, error) {
	t := s.tale
	s.depth, s.used, s.happened = 0, 0, 0
	w := New(1, &Options{Choices: []uint32{}, Policy: Fair, Verbose: say})
	backend, done, err := x.Open(w)
	if err != nil {
		return nil, err
	}
	if done != nil {
		defer done()
	}
	w.sched.search = s
	c := NewCluster(w, backend, plain)
	if err := w.Run(func() {
		t.Play(c)
		if !w.Failed() {
			c.conclude()
		}
	}); err != nil {
		return c, fmt.Errorf("sim: %s: %w", t.Name, err)
	}
	vs := c.Judge()
	if w.Failed() {
		return c, w.failure
	}
	if len(vs) > 0 {
		return c, fmt.Errorf("sim: %s: %v\n%s", t.Name, vs, c.Describe(raced))
	}
	if s.depth < len(s.stack) {
		return c, fmt.Errorf("sim: %s: the same order gave another run: %d choices of %d", t.Name, s.depth, len(s.stack))
	}
	if t.Check != nil {
		if err := t.Check(c); err != nil {
			return c, fmt.Errorf("sim: %s: %w\n%s", t.Name, err, c.Describe(raced))
		}
	}
	return c, nil
}

// Explore begins the part of a tale of which every order is played.
func (c *Cluster) Explore() { c.World.sched.policy = Searched }

// pick is a choice of a tale's own: each of its n options is tried.
func (c *Cluster) pick(n int) int { return c.World.sched.search.ask(c.World, n) }

// mishap offers n mishaps at a place where at most one of them may happen, and
// returns which does, from 1; 0 for none. Every place that offers some is tried.
func (c *Cluster) mishap(n int) int {
	s := c.World.sched.search
	if c.World.sched.policy != Searched || s.happened == s.tale.Mishaps {
		return 0
	}
	k := s.ask(c.World, n+1)
	if k > 0 {
		s.happened++
		c.World.Note("mishap %d", k)
	}
	return k
}

// conclude ends a tale: faults stop, what is left to do is done in one order, and
// the runtimes close.
func (c *Cluster) conclude() {
	c.hush()
	c.await("everything to end", func() bool {
		for _, m := range c.Members {
			if m.starting > 0 && !m.Node.dead {
				return false
			}
		}
		for _, h := range c.heads() {
			if !h.State.Terminal() {
				return false
			}
		}
		return true
	})
	if !c.World.Failed() {
		c.End()
	}
}

// search is the stack of a depth-first search: the choices of one run.
type search struct {
	tale     *Tale
	fibers   bool
	stack    []branch
	depth    int // choices that this run has made
	used     int // its interruptions
	happened int // its mishaps
}

// branch is one choice: which of n options is tried.
type branch struct{ at, n int }

// next moves to the next order; false if that was the last.
func (s *search) next() bool {
	for len(s.stack) > 0 {
		last := &s.stack[len(s.stack)-1]
		if last.at++; last.at < last.n {
			return true
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return false
}

// ask returns the option to take of n.
func (s *search) ask(w *World, n int) int {
	if n == 1 {
		return 0
	}
	if s.depth == len(s.stack) {
		s.stack = append(s.stack, branch{0, n})
	}
	b := &s.stack[s.depth]
	if b.n == 0 { // of a replay
		b.n = n
	}
	if b.n != n {
		w.Fail("choice %d has %d options, and had %d the time before", s.depth, n, b.n)
	}
	s.depth++
	w.mix(uint64(n)<<32 | uint64(b.at))
	return min(b.at, n-1)
}

// choose returns which of the runnable fibers goes on.
func (s *search) choose(w *World) int {
	for i, f := range w.runnable {
		if f.node == w.outside {
			return i
		}
	}
	if s.fibers {
		return s.chooseFiber(w)
	}
	here := w.cur.node
	at := slices.Index(w.runnable, w.cur)
	visible := at >= 0 && strings.HasPrefix(w.site, storeBefore)
	if at < 0 {
		at = slices.IndexFunc(w.runnable, func(f *fiber) bool { return f.node == here })
	}
	free := at < 0
	if !free && (!visible || s.used == s.tale.Bound) {
		return at
	}
	options := []int{at}
	if free {
		options = options[:0]
	}
	seen := []*Node{here}
	for i, f := range w.runnable {
		if !slices.Contains(seen, f.node) {
			seen, options = append(seen, f.node), append(options, i)
		}
	}
	k := s.ask(w, len(options))
	if !free && k > 0 {
		s.used++
	}
	return options[k]
}

// chooseFiber is choose with fibers as what is scheduled.
func (s *search) chooseFiber(w *World) int {
	first := max(slices.Index(w.runnable, w.cur), 0)
	if s.used == s.tale.Fibers {
		return first
	}
	k := s.ask(w, len(w.runnable))
	if k == 0 {
		return first
	}
	s.used++
	if k <= first {
		return k - 1
	}
	return k
}

// spell writes the order, for a replay.
func (s *search) spell() string {
	var text []string
	for _, b := range s.stack {
		text = append(text, strconv.Itoa(b.at))
	}
	return strings.Join(text, ".")
}

// parse reads what spell wrote.
func (s *search) parse(order string) error {
	for _, text := range strings.Split(order, ".") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("sim: order %q: %w", order, err)
		}
		s.stack = append(s.stack, branch{at: n}) // of how many is seen when it is asked
	}
	return nil
}
