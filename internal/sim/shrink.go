package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Shrunk is what a shrinker made of a script.
type Shrunk struct {
	// From and To are the run as it was, and the smallest that breaks the same rule.
	From, To *Outcome
	Rule     string
	// Runs is how many it took; with Cut, there was more to try.
	Runs int
	Cut  bool
}

func (s *Shrunk) String() string {
	more := ""
	if s.Cut {
		more = ", and there was more to try"
	}
	return fmt.Sprintf("%s: from %s to %s, in %d runs%s", s.Rule, s.From.Size(), s.To.Size(), s.Runs, more)
}

// Shrink makes a script that breaks a rule smaller, as long as the run breaks the same
// rule, in so many runs at most: it leaves out acts of chaos and spans of decisions, sets
// sites and spans to 0, which is mostly that nothing happens, and lowers single answers.
// rule "" is the first that the run breaks. The same script gives the same result.
//
// The error is that of a script which breaks no such rule.
func (s *Story) Shrink(script *Script, rule string, runs int) (*Shrunk, error) {
	once := *s
	once.Once = rule != "O20"
	if once.MaxSteps == 0 {
		once.MaxSteps = shrinkSteps
	}
	asked := *script
	asked.Ask = true
	from, err := once.play(&asked, nil)
	if err != nil {
		return nil, err
	}
	if from.Well() {
		return nil, errors.New("sim: nothing is wrong with this script")
	}
	if rule == "" {
		rule = from.Rules()[0]
	}
	if !slices.Contains(from.Rules(), rule) {
		return nil, fmt.Errorf("sim: the script breaks %v and not %s", from.Rules(), rule)
	}
	x := &shrinker{story: &once, rule: rule, left: runs, seen: map[string]bool{}}
	x.keep(from, len(from.Cluster.acts))
	x.flatten()
	for {
		was := slices.Clone(x.size[:sizeOfAll])
		x.sites()
		x.configuration()
		x.fewerActs()
		x.zeroes()
		x.leaveOut()
		x.lower()
		if x.left <= 0 || slices.Equal(x.size[:sizeOfAll], was) {
			break
		}
	}
	// Once more as a file will have it: a list, whatever the script was.
	to, err := once.play(&Script{Seed: script.Seed, Choices: x.list, Acts: x.acts, Ask: true}, nil)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(to.Rules(), rule) {
		return nil, fmt.Errorf("sim: the shrunk script does not break %s again", rule)
	}
	return &Shrunk{From: from, To: to, Rule: rule, Runs: runs - x.left, Cut: x.left <= 0}, nil
}

// shrinkSteps is when a run of a shrinker that nobody gave a limit has made no progress.
const shrinkSteps = 60_000

// shrinker is a search for a smaller script.
type shrinker struct {
	story *Story
	rule  string
	left  int // runs

	best *Outcome
	list []uint32 // its choices, without the zeros at the end
	acts int
	size []int64
	kept int             // how often best has changed
	seen map[string]bool // candidates that were tried
}

// new reports whether a candidate has not been tried, and takes it from what is left. One
// by site is another after each change of best, whose questions it is made of.
func (x *shrinker) new(list []uint32, acts int, site bool) bool {
	key := fmt.Appendf(nil, "%d %v ", acts, site)
	if site {
		key = fmt.Appendf(key, "%d ", x.kept)
	}
	for _, c := range trimmed(list) {
		key = binary.AppendUvarint(key, uint64(c))
	}
	if x.left <= 0 || x.seen[string(key)] {
		return false
	}
	x.seen[string(key)] = true
	x.left--
	return true
}

// keep makes an outcome the one to go on from. What was asked is what counts of a list:
// answers that nobody asked for, and those that were too large for their question, are 0.
func (x *shrinker) keep(o *Outcome, acts int) {
	x.best, x.list, x.acts = o, trimmed(o.Cluster.World.Choices()), acts
	x.size = sizeOf(o, acts)
	x.kept++
}

// sizeOfAll is how many numbers of a size are worth another round: the rest is what single
// answers are.
const sizeOfAll = 4

// sizeOf is what becomes smaller with each step of the search, compared in this order.
func sizeOf(o *Outcome, acts int) []int64 {
	many, sum := int64(0), int64(0)
	for _, c := range o.Cluster.World.choices {
		if c != 0 {
			many++
			sum += int64(c)
		}
	}
	s := o.Size()
	return []int64{int64(s.Nodes + s.Executions), int64(acts), many, s.Steps, sum, int64(s.Decisions)}
}

// try runs a candidate and keeps it if it breaks the rule too and is smaller. A list
// answers place by place, or each site by itself.
func (x *shrinker) try(list []uint32, acts int, site bool) bool {
	if !x.new(list, acts, site) {
		return false
	}
	script := &Script{Seed: x.best.script.Seed, Acts: acts, Ask: true}
	if site {
		script.sites = bySite{}
		for i, c := range list {
			q := x.best.Cluster.World.asked[i].site
			script.sites[q] = append(script.sites[q], c)
		}
	} else if script.Choices = list; list == nil {
		script.Choices = []uint32{}
	}
	return x.take(script)
}

func (x *shrinker) take(script *Script) bool {
	o, err := x.story.play(script, nil)
	if err != nil || !slices.Contains(o.Rules(), x.rule) || slices.Compare(sizeOf(o, script.Acts), x.size) >= 0 {
		return false
	}
	x.keep(o, script.Acts)
	return true
}

// flatten turns the run into one of the uniform policy, in which 0 is the fiber that has
// waited longest: then a schedule is what differs from the fair one.
func (x *shrinker) flatten() {
	if x.story.Policy != Drawn || x.best.Cluster.World.Policy() == Uniform {
		return
	}
	x.left--
	o, err := x.story.play(&Script{Seed: x.best.script.Seed, Choices: x.best.Cluster.World.Flat(), Acts: x.acts, Ask: true}, nil)
	if err == nil && slices.Contains(o.Rules(), x.rule) {
		x.keep(o, x.acts)
	}
}

// zeroed is the list with every answer 0 that which names.
func (x *shrinker) zeroed(which func(at int, site string) bool) (list []uint32, any bool) {
	list = slices.Clone(x.list)
	for i := range list {
		if list[i] != 0 && which(i, x.best.Cluster.World.asked[i].site) {
			list[i], any = 0, true
		}
	}
	return list, any
}

// sites sets all answers of one site to 0.
func (x *shrinker) sites() {
	var sites []string
	for _, q := range x.best.Cluster.World.asked {
		if !slices.Contains(sites, q.site) {
			sites = append(sites, q.site)
		}
	}
	for _, site := range sites {
		if list, any := x.zeroed(func(_ int, s string) bool { return s == site }); any {
			x.try(list, x.acts, true)
		}
	}
}

// configuration lowers what the cluster is made of: with fewer nodes, other questions are
// asked later, so that the sites keep their answers.
func (x *shrinker) configuration() {
	for i := 0; i < min(x.best.Cluster.drawn, len(x.list)); i++ {
		for _, c := range []uint32{0, 1} {
			if i < len(x.list) && x.list[i] > c {
				list := slices.Clone(x.list)
				list[i] = c
				if x.try(list, x.acts, true) {
					break
				}
			}
		}
	}
}

// fewerActs ends chaos sooner, and leaves out acts.
func (x *shrinker) fewerActs() {
	for n := 1; n < x.acts; n *= 2 {
		if x.try(x.list, n, false) {
			break
		}
	}
	for size := max(x.acts/2, 1); size >= 1; size /= 2 {
		for i := x.acts - size; i >= 0 && x.acts > size; i -= size {
			at, end := x.best.Cluster.acts, len(x.list)
			if i >= len(at) || at[i] >= end {
				x.try(x.list, x.acts-size, false)
				continue
			}
			if i+size < len(at) {
				end = min(end, at[i+size])
			}
			_ = x.without(at[i], end, x.acts-size, true) || x.without(at[i], end, x.acts-size, false)
		}
	}
}

// spans calls try with spans of the list from a place on, the long ones first, and from
// the end; only those that hold an answer other than 0.
func (x *shrinker) spans(from int, try func(at, end int)) {
	for size := max(len(x.list)-from, 1); size >= 1 && x.left > 0; size /= 2 {
		for end := len(x.list); end > from && x.left > 0; end -= size {
			if end = min(end, len(x.list)); end <= from {
				break
			}
			at := max(end-size, from)
			if slices.ContainsFunc(x.list[at:end], func(c uint32) bool { return c != 0 }) {
				try(at, end)
			}
		}
	}
}

// zeroes sets spans to 0.
func (x *shrinker) zeroes() {
	x.spans(0, func(at, end int) {
		list, _ := x.zeroed(func(i int, _ string) bool { return i >= at && i < end })
		_ = x.try(list, x.acts, false) || x.try(list, x.acts, true)
	})
}

// leaveOut deletes spans behind the configuration.
func (x *shrinker) leaveOut() {
	x.spans(x.best.Cluster.drawn, func(at, end int) { x.without(at, end, x.acts, false) })
}

// without tries the list without a span.
func (x *shrinker) without(at, end, acts int, site bool) bool {
	if !site {
		return x.try(append(slices.Clone(x.list[:at]), x.list[end:]...), acts, false)
	}
	if !x.new(slices.Insert(slices.Clone(x.list), at, ^uint32(0), uint32(end)), acts, site) {
		return false
	}
	script := &Script{Seed: x.best.script.Seed, Acts: acts, Ask: true, sites: bySite{}}
	for i, c := range x.list {
		if q := x.best.Cluster.World.asked[i].site; i < at || i >= end {
			script.sites[q] = append(script.sites[q], c)
		}
	}
	return x.take(script)
}

// lower makes single answers as small as halving finds.
func (x *shrinker) lower() {
	for i := 0; i < len(x.list) && x.left > 0; i++ {
		for low := uint32(0); i < len(x.list) && x.list[i] > low+1; {
			list := slices.Clone(x.list)
			list[i] = low + (x.list[i]-low)/2
			if tried := list[i]; !x.try(list, x.acts, false) {
				low = tried
			}
		}
	}
}
