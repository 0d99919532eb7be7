package sim

import (
	"slices"
	"testing"
)

// A list and bytes that were taken from a run repeat it, and choice 0 is the one in which
// nothing happens.
func TestListsAndBytesRepeatARun(t *testing.T) {
	s := &Story{Open: inMemory, Once: true}
	for seed := range uint64(12) {
		first := story(t, s, &Script{Seed: seed, Ask: true})
		w := first.Cluster.World
		for name, again := range map[string]*Script{
			"list": {Seed: seed, Choices: w.Choices()}, "bytes": {Seed: seed, Bytes: w.Bytes()},
		} { // order does not matter: each is compared with the first
			o := story(t, s, again)
			if vs := Same(first.both(), o.both()); len(vs) > 0 {
				t.Errorf("seed %d: its %s give another run: %v", seed, name, vs)
			}
		}
	}
	w := New(1, &Options{Choices: []uint32{}})
	if w.Chance("a fault", 999) || w.Choose("fault.commit", thousand) != thousand-1 || w.Decide("some", 5) != 0 {
		t.Error("an empty list makes a fault")
	}
}

// story plays a script that must end well.
func story(t *testing.T, s *Story, script *Script) *Outcome {
	t.Helper()
	o, err := s.run(script, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Error(); err != nil {
		t.Fatal(err)
	}
	return o
}

// Priorities are all different, the highest runs, and at each change point the running
// fiber falls below all others.
func TestPrioritiesFallAtTheirChangePoints(t *testing.T) {
	for seed := range uint64(100) {
		w := New(seed, &Options{Policy: Priorities})
		w.Expect(60)
		points := len(w.sched.changes)
		var order []int64
		err := w.Run(func() {
			for range 6 {
				w.outside.Go("f", func() {
					for range 10 {
						order = append(order, w.cur.id)
						w.outside.Yield()
					}
				})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		switches := 0
		for i := 1; i < len(order); i++ {
			if order[i] != order[i-1] {
				switches++
			}
		}
		// Six fibers that never wait: five switches where one ends, and one at most for
		// each change point.
		if switches > 5+points || points < 1 || points > 5 {
			t.Fatalf("seed %d: %d switches with %d change points: %v", seed, switches, points, order)
		}
		if len(w.sched.changes) > 0 && w.Steps() > 61 {
			t.Fatalf("seed %d: change points %v of 60 are left after %d steps", seed, w.sched.changes, w.Steps())
		}
	}
	w := New(3, &Options{Policy: Priorities, Choices: []uint32{}})
	var prios []int64
	if err := w.Run(func() {
		for range 5 {
			w.outside.Go("f", func() { prios = append(prios, w.cur.prio) })
		}
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(prios)
	if n := len(slices.Compact(prios)); n != 5 {
		t.Errorf("%d priorities for 5 fibers that drew one number", n)
	}
}
