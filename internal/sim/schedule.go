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
	// Priorities: each fiber has a random priority and the highest runs; at a few
	// random steps the running one falls to the bottom. Finds orders that need few
	// preemptions, deep in a run.
	Priorities
	// Robin: the running fiber goes on until it waits, or is preempted at random;
	// then the one that has waited longest.
	Robin
	// Starve: as Uniform, but one fiber runs only when no other can.
	Starve
	// Fair: the one that has waited longest. For quiet phases.
	Fair
)

var policyNames = [...]string{"drawn", "uniform", "priorities", "robin", "starve", "fair"}

func (p Policy) String() string { return policyNames[p] }

// horizon is within how many steps the change points of Priorities and the
// victim of Starve fall: long enough for a whole small workload.
const horizon = 2000

type schedule struct {
	policy  Policy
	changes []int64 // steps at which the running fiber falls to the bottom
	bottom  int     // the lowest priority so far
	every   int     // Robin preempts in one of so many steps
	victim  int64   // Starve: the fiber's number
}

func (s *schedule) init(w *World, p Policy) {
	if p == Drawn {
		p = Uniform + Policy(w.Decide("policy", int(Fair-Uniform)))
	}
	s.policy = p
	switch p {
	case Priorities:
		for range 1 + w.Decide("changes", 5) {
			s.changes = append(s.changes, 1+int64(w.Decide("change", horizon)))
		}
		slices.Sort(s.changes)
	case Robin:
		s.every = 2 << w.Decide("preempt", 5)
	case Starve:
		s.victim = 1 + int64(w.Decide("victim", 40))
	}
}

// Policy returns the policy that is in force.
func (w *World) Policy() Policy { return w.sched.policy }

// Calm makes the scheduler fair from now on: what follows must get done.
func (w *World) Calm() { w.sched.policy = Fair }

func (s *schedule) born(w *World, f *fiber) {
	if s.policy == Priorities {
		f.prio = w.Decide("priority", 1<<16)
	}
}

// take removes one fiber from the runnable ones, of which there are some.
func (s *schedule) take(w *World) *fiber {
	i := s.choose(w)
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
		for len(s.changes) > 0 && s.changes[0] <= w.Steps() {
			s.changes = s.changes[1:]
			if w.cur != nil {
				s.bottom--
				w.cur.prio = s.bottom
			}
		}
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
	}
	return 0
}
