package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Counts is what a campaign did. Its methods may be called by several goroutines.
type Counts struct {
	mu     sync.Mutex
	seeds  int // of random stories
	races  int // runs of directed ones
	steps  int64
	choice int64
	polled map[string]int // policies
	faults map[string]int
	acts   map[string]int
	rare   []int // in how many random stories each state was reached
	raced  []int // in how many races
}

// Add counts a run; a directed one is no random story.
func (n *Counts) Add(o *Outcome) {
	c := o.Cluster
	rare := c.reached()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.polled == nil {
		n.polled, n.faults, n.acts = map[string]int{}, map[string]int{}, map[string]int{}
		n.rare, n.raced = make([]int, len(rare)), make([]int, len(rare))
	}
	list := n.rare
	if o.story.Directed {
		n.races++
		list = n.raced
	} else {
		n.seeds++
	}
	for i, is := range rare {
		if is {
			list[i]++
		}
	}
	n.steps += c.World.Steps()
	n.choice += int64(len(c.World.choices))
	n.polled[c.policy.String()]++
	for _, m := range c.Members {
		for k, many := range m.Link.Faults.Made() { // order does not matter: only counted
			n.faults[k.Act.String()] += many
		}
	}
	for act, many := range c.did { // order does not matter: only counted
		n.acts[act] += many
	}
}

// Text is everything that was counted, for people.
func (n *Counts) Text() string {
	var b strings.Builder
	total := max(n.seeds+n.races, 1)
	fmt.Fprintf(&b, "%d random stories, %d races; %d steps and %d decisions a run\n", n.seeds, n.races, n.steps/int64(total), n.choice/int64(total))
	for _, line := range []struct {
		name string
		sums map[string]int
	}{{"policies", n.polled}, {"faults", n.faults}, {"acts", n.acts}} {
		fmt.Fprintf(&b, "%s:", line.name)
		for _, k := range slices.Sorted(maps.Keys(line.sums)) {
			fmt.Fprintf(&b, " %s %d", k, line.sums[k])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "rare states, in how many random stories and in how many races:\n")
	for i, r := range Rares() {
		if n.rare != nil {
			fmt.Fprintf(&b, "%7d %5d  %s\n", n.rare[i], n.raced[i], r.Name)
		}
	}
	return b.String()
}

// expected is how often a state must be expected, by what was measured, for a campaign to
// fail that did not come to it: by chance that happens once in 500 million.
const expected = 20

// Missed returns the states that should have been reached and were not: all of them in a
// campaign that is whole, and in a shorter one those that so many seeds reach often.
func (n *Counts) Missed(whole bool) (names []string) {
	for i, r := range Rares() {
		if n.rare == nil || n.rare[i]+n.raced[i] > 0 {
			continue
		}
		if whole || r.Often*n.seeds >= expected*10_000 {
			names = append(names, r.Name)
		}
	}
	return names
}
