package sim

import (
	"fmt"
	"time"

	"github.com/loomwork/loom"
)

// Program is a body's script, drawn from the seed and handed to the flow as its
// input, so that whichever node drives the execution plays the same.
type Program struct {
	Steps []Step `json:"steps"`
	Salt  int    `json:"salt,omitempty"` // tells starts of one id with unequal input apart
	// Again is how many generations are to follow, and Generation how many went before.
	Again      int `json:"again,omitempty"`
	Generation int `json:"generation,omitempty"`
}

// Step is one thing that a body does.
type Step struct {
	Kind   StepKind      `json:"kind"`
	Name   string        `json:"name,omitempty"`
	For    time.Duration `json:"for,omitempty"`    // a sleep's length, an await's limit, how long an effect takes
	Limit  bool          `json:"limit,omitempty"`  // an await has a limit
	Ignore bool          `json:"ignore,omitempty"` // an error is noted and the body goes on
	Effect *Effect       `json:"effect,omitempty"`
	// Child is what a child plays, Policy what a cancel does to it, and Wait whether it is
	// waited for.
	Child  *Program          `json:"child,omitempty"`
	Policy loom.CancelPolicy `json:"policy,omitempty"`
	Wait   bool              `json:"wait,omitempty"`
	// Value is what is shown under the name; "" takes it back.
	Value string `json:"value,omitempty"`
	// Lines are the branches of a fork.
	Lines [][]Step `json:"lines,omitempty"`
}

// StepKind says what a step is.
type StepKind string

// Kinds of steps.
const (
	StepDo     StepKind = "do"
	StepSleep  StepKind = "sleep"
	StepUntil  StepKind = "until" // a sleep until an instant
	StepAwait  StepKind = "await"
	StepAll    StepKind = "all"   // branches, and all of them are waited for
	StepFirst  StepKind = "first" // branches, the losers are cancelled
	StepLeave  StepKind = "leave" // branches that nobody waits for
	StepValues StepKind = "values"
	StepDefer  StepKind = "defer" // an effect at the body's end
	StepUndo   StepKind = "undo"  // an effect that takes something back if the body fails
	StepClean  StepKind = "clean" // a line at the body's end, whatever came of it
	StepChild  StepKind = "child"
	StepBuild  StepKind = "build" // asks for the version of a change
	StepShow   StepKind = "show"  // shows a value in lists
	StepFail   StepKind = "fail"
	StepPanic  StepKind = "panic"
)

// Effect is how a service behaves.
type Effect struct {
	Attempts int           `json:"attempts,omitempty"`
	Initial  time.Duration `json:"initial,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	ReadOnly bool          `json:"readOnly,omitempty"`
	Deaf     bool          `json:"deaf,omitempty"`  // it does not heed its context
	Flaky    int           `json:"flaky,omitempty"` // it fails in so many of a thousand calls
	Panics   bool          `json:"panics,omitempty"`
	Final    bool          `json:"final,omitempty"` // its errors are permanent
	Once     bool          `json:"once,omitempty"`  // at most once
	Asks     bool          `json:"asks,omitempty"`  // it is verified before it is called again
	Tells    bool          `json:"tells,omitempty"` // it records its progress
}

// messageNames are what bodies await and clients send.
var messageNames = [...]string{"go", "pay"}

// writer draws programs.
type writer struct {
	w      *World
	lease  time.Duration
	long   time.Duration // a wait that gets its execution parked
	left   int           // steps that may still be written
	family bool          // it writes children, generations, versions and progress
	rich   bool          // it writes what bodies leave to their end, and steps with promises of their own
}

// program draws one.
func (d *writer) program() Program {
	d.left = 2 + d.w.Decide("program", 9)
	p := Program{Steps: d.line(0)}
	for d.left > 0 {
		p.Steps = append(p.Steps, d.step(0))
	}
	switch {
	case d.w.Chance("fails", 60):
		p.Steps = append(p.Steps, Step{Kind: StepFail})
	case d.w.Chance("panics", 40):
		p.Steps = append(p.Steps, Step{Kind: StepPanic})
	}
	if d.family && d.w.Chance("continues", 300) {
		p.Again = 1 + d.w.Decide("generations", 2)
	}
	return p
}

// child draws the program of a child: a short one, in which a grandchild is rare.
func (d *writer) child() *Program {
	left := d.left
	d.left = 1 + d.w.Decide("child", 3)
	p := &Program{Steps: d.line(1), Again: d.w.Decide("child continues", 5) / 4}
	d.left = left
	return p
}

func (d *writer) line(depth int) []Step {
	var out []Step
	for range 1 + d.w.Decide("line", 3) {
		if d.left == 0 {
			break
		}
		out = append(out, d.step(depth))
	}
	return out
}

// step draws one step; forks are not drawn below the third level.
func (d *writer) step(depth int) Step {
	d.left--
	kinds := 20
	if depth > 1 {
		kinds = 15
	}
	s := Step{Ignore: d.w.Chance("ignore", 500)}
	if d.family && d.w.Chance("family", 150) {
		switch {
		case d.w.Chance("build", 300):
			s.Kind, s.Name = StepBuild, d.name()
		case depth < 2:
			s.Kind, s.Child, s.Wait = StepChild, d.child(), d.w.Chance("waited for", 700)
			s.Policy = loom.CancelPolicy(d.w.Decide("policy of a child", 3))
		default:
			s.Kind, s.Name = StepValues, d.name()
		}
		return s
	}
	if d.rich && d.w.Chance("left to the end", 120) {
		return d.leftToEnd(s)
	}
	switch k := d.w.Decide("step", kinds); {
	case k < 7:
		s.Kind, s.Name, s.For, s.Effect = StepDo, d.name(), d.short(), d.effect()
	case k < 9:
		s.Kind, s.Name, s.For = StepSleep, d.name(), d.wait()
	case k < 10:
		s.Kind, s.Name, s.For = StepUntil, d.name(), d.wait()
	case k < 13:
		s.Kind, s.Name = StepAwait, messageNames[d.w.Decide("message", len(messageNames))]
		if s.Limit = d.w.Chance("limit", 600); s.Limit {
			s.For = d.wait()
		}
	case k < 14:
		s.Kind, s.Name = StepValues, d.name()
	case k < 15:
		s.Kind, s.Name, s.For, s.Effect = StepDefer, d.name(), d.short(), d.effect()
	case k < 17:
		s.Kind = StepAll
	case k < 19:
		s.Kind = StepFirst
	default:
		s.Kind = StepLeave
	}
	if k := s.Kind; k == StepAll || k == StepFirst || k == StepLeave {
		s.Name = d.name()
		for range 1 + d.w.Decide("lines", 3) {
			s.Lines = append(s.Lines, d.line(depth+1))
		}
	}
	return s
}

// leftToEnd makes s a step that the body's end plays.
func (d *writer) leftToEnd(s Step) Step {
	s.Name = d.name()
	if d.w.Chance("undo", 500) {
		s.Kind, s.For = StepUndo, d.short()
		s.Effect = &Effect{Attempts: 1 + d.w.Decide("undo attempts", 3), Initial: d.lease / 16, Flaky: 200 * d.w.Decide("undo flaky", 3)}
		return s
	}
	s.Kind, s.Lines = StepClean, [][]Step{d.line(2)}
	return s
}

// name draws a name: few, so that they repeat.
func (d *writer) name() string { return fmt.Sprint("s", d.w.Decide("name", 3)) }

// short draws how long an effect takes: mostly less than the lease.
func (d *writer) short() time.Duration {
	if d.w.Chance("slow effect", 150) {
		return d.lease * time.Duration(1+d.w.Decide("slow", 3))
	}
	return d.lease * time.Duration(d.w.Decide("short", 8)) / 16
}

// wait draws a wait: at once, short, or long enough to be parked.
func (d *writer) wait() time.Duration {
	switch d.w.Decide("wait for", 4) {
	case 0:
		return 0
	case 1:
		return d.long / 4
	case 2:
		return d.long + d.long/8
	}
	return d.long * time.Duration(2+d.w.Decide("long", 3))
}

func (d *writer) effect() *Effect {
	e := &Effect{}
	if e.ReadOnly = d.w.Chance("read-only", 200); e.ReadOnly {
		return e
	}
	e.Deaf = d.w.Chance("deaf", 200)
	if d.w.Chance("flaky", 400) {
		e.Flaky = 200 + 200*d.w.Decide("flaky by", 4)
		e.Final = d.w.Chance("final", 100)
		e.Panics = d.w.Chance("panicking", 100)
	}
	if d.w.Chance("retried", 500) {
		e.Attempts = 2 + d.w.Decide("attempts", 3)
		e.Initial = d.wait() / 2
	}
	if d.w.Chance("timeout", 200) {
		e.Timeout = d.lease / 4
	}
	if d.rich {
		once := d.w.Chance("once", 150)
		e.Once = once && e.Attempts == 0 // a step is not called once and retried
		e.Asks = !once && d.w.Chance("asks", 200)
	}
	if d.family {
		e.Tells = d.w.Chance("tells", 200)
	}
	return e
}
