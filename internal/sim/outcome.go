package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Outcome is what became of one run of a story.
type Outcome struct {
	// Cluster is what was run.
	Cluster *Cluster
	// Failure ended the run before it could be judged; nil for none.
	Failure *Failure
	// Violations are what the oracles found.
	Violations []Violation

	story  *Story
	script *Script
}

// run runs a script once and judges it, while the backend is still open. The error is of
// the backend, which did not open.
func (s *Story) run(script *Script, verbose func(string)) (*Outcome, error) {
	w := New(script.Seed, &Options{Choices: script.Choices, Bytes: script.Bytes, sites: script.sites, Ask: script.Ask,
		Policy: s.Policy, MaxSteps: s.MaxSteps, Replay: s.Replay, Verbose: verbose})
	backend, done, err := s.Open(w)
	if err != nil {
		return nil, err
	}
	if done != nil {
		defer done()
	}
	draw := s.Config
	if draw == nil {
		draw = Draw
	}
	cfg := draw(w)
	if script.Acts > 0 {
		cfg.Acts = min(cfg.Acts, script.Acts)
	}
	c := NewCluster(w, backend, cfg)
	c.drawn = len(w.choices)
	w.Note("%+v", c.Config)
	if s.Play == nil {
		w.Expect(cfg.steps())
	} else if s.Directed {
		w.Expect(s.measured())
	}
	play := s.Play
	if play == nil {
		play = (*Cluster).Play
	}
	o := &Outcome{Cluster: c, story: s, script: script}
	err = w.Run(func() { play(c) })
	if err == nil {
		o.Violations = c.Judge()
	}
	o.Failure = w.failure // judging may fail the run too
	return o, nil
}

// measured is how many steps the story takes until it is quiet when the scheduler is
// fair: what [Priorities] spreads its change points over.
func (s *Story) measured() int64 {
	if s.length == 0 {
		fair := *s
		fair.Directed, fair.Policy = false, Fair
		s.length = horizon
		if o, err := fair.run(&Script{Seed: 1}, nil); err == nil && o.Failure == nil && o.Cluster.quiet {
			s.length = o.Cluster.calm.steps
		}
	}
	return s.length
}

// play runs a script once, or twice if the story says so, and judges it.
func (s *Story) play(script *Script, verbose func(string)) (*Outcome, error) {
	first, err := s.run(script, verbose)
	if err != nil || s.Once || !first.Well() {
		return first, err
	}
	second, err := s.run(script, nil)
	if err != nil {
		return nil, err
	}
	if f := second.Failure; f != nil {
		first.Violations = []Violation{{Oracle: "O20", Text: "the second run fails: " + f.Error()}}
	} else {
		first.Violations = Same(first.both(), second.both())
	}
	return first, nil
}

func (o *Outcome) both() Run { return Run{o.Cluster.World, o.Cluster.History} }

// Well reports whether nothing was found.
func (o *Outcome) Well() bool { return o.Failure == nil && len(o.Violations) == 0 }

// Rules are the oracles that found something, in the order in which they did, or the
// rule of the failure.
func (o *Outcome) Rules() []string {
	if o.Failure != nil {
		return []string{o.Failure.Rule}
	}
	var out []string
	for _, v := range o.Violations {
		if !slices.Contains(out, v.Oracle) {
			out = append(out, v.Oracle)
		}
	}
	return out
}

// Error returns nil if all is well, and otherwise what is not and the command that
// repeats it.
func (o *Outcome) Error() error {
	switch {
	case o.Failure != nil:
		return o.Failure
	case len(o.Violations) == 0:
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "sim: seed %d:", o.script.Seed)
	for i, v := range o.Violations {
		if i == 12 {
			fmt.Fprintf(&text, "\n  and %d more", len(o.Violations)-i)
			break
		}
		fmt.Fprintf(&text, "\n  %s", v)
	}
	if o.script.drawn() {
		replay := o.story.Replay(o.script.Seed)
		fmt.Fprintf(&text, "\nreplay: %s\nshrink: %s SHRINK=1", replay, replay)
	}
	return errors.New(text.String())
}

// Size is how large a run was, up to its quiet phase: what a person has to look at.
type Size struct {
	Decisions  int   // of which the last is not 0
	Nodes      int   // that joined
	Executions int   // that were begun
	Steps      int64 // of the world
}

func (s Size) String() string {
	return fmt.Sprintf("%d decisions, %d nodes, %d executions, %d steps", s.Decisions, s.Nodes, s.Executions, s.Steps)
}

// Size measures the run.
func (o *Outcome) Size() Size {
	c := o.Cluster
	s := Size{Decisions: len(trimmed(c.World.choices)), Nodes: c.joined, Executions: len(c.History.lives()), Steps: c.World.Steps()}
	if c.quiet {
		s.Nodes, s.Steps = c.calm.nodes, c.calm.steps
	}
	return s
}
