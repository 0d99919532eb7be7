package sim

import "slices"

// Policy is how the scheduler chooses among the fibers that can run.
type Policy uint8

// Policies.
const (
	// Drawn: one of the others, by the seed.
	Drawn Policy = iota
	// Uniform: any, equally likely.
	Uniform
	// Priorities: each fiber has a random priority of its own and the highest runs; at
	// d of the steps that the run is expected to take, d being 1 to 5, the running one
	// falls below all others. An order that needs d + 1 constraints is then found with a
	// chance of at least 1 in n·k^d, n being the fibers and k the steps.
	Priorities
	// Robin: the running fiber goes on until it waits, or is preempted at random;
	// then the one that has waited longest.
	Robin
	// Starve: as Uniform, but one fiber runs only when no other can.
	Starve
	// Fair: the one that has waited longest. For quiet phases.
	Fair
	// Searched: an [Explorer] goes through the orders one after the other.
	Searched
)

var policyNames = [...]string{"drawn", "uniform", "priorities", "robin", "starve", "fair", "searched"}

func (p Policy) String() string { return policyNames[p] }

// horizon is how many steps a run is taken for if nobody says how long it is, and the
// parts into which change points divide the one that somebody does: see [World.Expect].
const horizon = 2000

type schedule struct {
	policy  Policy
	changes []int64 // places of the change points, in parts of the horizon
	steps   int64   // that the run is expected to take
	bottom  int64   // the lowest priority so far
	every   int     // Robin preempts in one of so many steps
	victim  int64   // Starve: the fiber's number
	search  *search // Searched
}

func (s *schedule) init(w *World, p Policy) {
	if p == Drawn {
		p = Uniform + Policy(w.Decide("policy", int(Fair-Uniform)))
	}
	s.policy, s.steps = p, horizon
	switch p {
	case Priorities:
		for range 1 + w.Decide("changes", 5) {
			s.changes = append(s.changes, int64(w.Decide("change", horizon)))
		}
		slices.Sort(s.changes)
	case Robin:
		s.every = 2 << w.Decide("preempt", 5)
	case Starve:
		s.victim = 1 + int64(w.Decide("victim", 40))
	}
}

// ofPolicy reports whether a question is the scheduler's own.
func ofPolicy(site string) bool {
	switch site {
	case "policy", "changes", "change", "preempt", "victim", "priority", "fiber":
		return true
	}
	return false
}

// Policy returns the policy that is in force.
func (w *World) Policy() Policy { return w.sched.policy }

// Expect says how many steps the interesting part of the run will take, from its
// beginning: the change points of [Priorities] are spread over them. It is for before the
// run.
func (w *World) Expect(steps int64) { w.sched.steps = max(steps, 1) }

// Calm makes the scheduler fair from now on: what follows must get done.
func (w *World) Calm() { w.sched.policy = Fair }

func (s *schedule) born(w *World, f *fiber) {
	if s.policy == Priorities {
		// Two fibers that draw one number stand in the order of their birth.
		f.prio = int64(w.Decide("priority", 1<<16))<<32 - f.id
	}
}

// change lets the running fiber fall below all others at each change point.
func (s *schedule) change(w *World) {
	for len(s.changes) > 0 && 1+s.changes[0]*s.steps/horizon <= w.Steps() {
		s.changes = s.changes[1:]
		if w.cur != nil {
			s.bottom--
			w.cur.prio = s.bottom << 32
		}
	}
}

// take removes one fiber from the runnable ones, of which there are some.
func (s *schedule) take(w *World) *fiber {
	if s.policy == Priorities {
		s.change(w)
	}
	i := s.choose(w)
	if w.opts.Ask && len(w.runnable) > 1 && s.policy != Fair {
		w.flat = append(w.flat, uint32(i))
	}
	f := w.runnable[i]
	w.runnable = slices.Delete(w.runnable, i, i+1)
	return f
}

func (s *schedule) choose(w *World) int {
	r := w.runnable
	if len(r) == 1 {
		return 0
	}
	switch s.policy {
	case Uniform:
		return w.Decide("fiber", len(r))
	case Priorities:
		best := 0
		for i := range r {
			if r[i].prio > r[best].prio {
				best = i
			}
		}
		return best
	case Robin:
		if i := slices.Index(r, w.cur); i >= 0 && w.Decide("preempt", s.every) > 0 {
			return i
		}
		return 0
	case Starve:
		i := w.Decide("fiber", len(r))
		if r[i].id == s.victim {
			i = (i + 1) % len(r)
		}
		return i
	case Searched:
		return s.search.choose(w)
	}
	return 0
}
