package kernel

import (
	"runtime"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
)

// Branch is one line of a body: the body itself, or what loom.Go began. Its
// function runs as a coroutine, only while the machine waits for it.
type Branch struct {
	m      *Machine
	path   string
	parent *Branch
	fn     func(*Branch)
	counts map[string]int // how often a name was used in this branch

	co        rt.Coroutine
	yield     func()
	goroutine uintptr // that the function runs on
	begun     bool
	queued    bool // in the ready queue
	done      bool
	ended     uint64 // place among the ends of this execution's branches, from 1
	waiters   []*Branch

	cancelled bool
	shielded  bool // no cancel reaches it: it is, or was begun by, the final branch
	// Panic is set if the function panicked, Exited if it ended its goroutine.
	Panic  *Panic
	Exited bool
}

// Panic is what a function of the user panicked with.
type Panic struct {
	Value any
	Stack []string // "function:line", innermost first
}

// Path returns the branch's path, "" for the body itself.
func (b *Branch) Path() string { return b.path }

// Done reports whether the branch's function has ended.
func (b *Branch) Done() bool { return b.done }

// Execution returns the id of the branch's execution.
func (b *Branch) Execution() event.ExecutionID { return b.m.id }

// Seed returns the execution's seed.
func (b *Branch) Seed() string { return b.m.state.Seed }

// Now returns the time of the event that began this turn.
func (b *Branch) Now() event.Time { return b.m.now }

// Replaying reports whether the turn that runs is a recorded one.
func (b *Branch) Replaying() bool { return b.m.replaying }

// Cancelled reports whether the branch was asked to give way.
func (b *Branch) Cancelled() bool { return b.cancelled || b.m.state.Cancel != nil && !b.shielded }

// name returns the path of the next operation called name.
func (b *Branch) name(name string) string {
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	b.counts[name]++
	return join(b.path, name, b.counts[name])
}

// run is the coroutine's function.
func (b *Branch) run(yield func()) {
	b.yield = yield
	b.goroutine = rt.Goroutine()
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			b.Panic = NewPanic(r)
		} else {
			b.Exited = true
		}
	}()
	b.fn(b)
	returned = true
}

// park hands control back to the machine until the branch is ready again. When
// the machine unloads, it does not return: deferred functions run, and recover
// sees nil.
func (b *Branch) park() {
	b.yield()
	if b.m.unloading {
		runtime.Goexit()
	}
}

// NewPanic describes a recovered panic. The stack holds no address, no path of a
// machine and nothing below a branch's or an effect's function, so that two runs of the same
// code record the same, whoever resumed the branch.
func NewPanic(value any) *Panic {
	var pcs [64]uintptr
	n := runtime.Callers(3, pcs[:])
	p := &Panic{Value: value}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		if f.Function == branchRun || f.Function == effectCall {
			return p
		}
		if f.Function != "" {
			p.Stack = append(p.Stack, frameText(f))
		}
		if !more || len(p.Stack) == 32 {
			return p
		}
	}
}

// Names of what calls every branch's function, and every effect's.
const (
	branchRun  = "github.com/loomwork/loom/internal/kernel.(*Branch).run"
	effectCall = "github.com/loomwork/loom.(*step).invoke"
)
