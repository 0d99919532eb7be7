package kernel

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/rt"
)

// Machine is one execution's state machine. Make one with [New].
type Machine struct {
	id    event.ExecutionID
	state *fold.State
	cfg   Config
	meta  []byte // metadata of the events that this writer adds

	main     *Branch
	branches []*Branch // that have not ended, in the order of their creation
	ready    []*Branch
	cur      *Branch // that runs now
	ends     uint64

	now       event.Time // time of the event that began the turn
	replaying bool
	before    bool // the turn that runs has run before
	finishing bool // the body has returned; its other branches give way
	again     bool // a generation has ended, and the next has not begun
	unloading bool
	end       *End              // how the body ended
	final     *Branch           // what runs between the body's end and the execution's, nil for none
	finally   func(*Branch) End // its function

	ahead     lookahead       // while a recorded turn runs
	versions  map[string]int  // marked so far; not the fold's, which is behind while a turn runs
	published map[string]bool // keys shown so far; the fold's are behind while a turn runs
	fault     error           // why the body cannot go on, see [Machine.Fault]

	ops   map[string]*Op // open operations by path
	opens opList         // the same, in the order of their creation
	order uint64
	due   dueHeap

	asked   []command // by this turn, in the order of issue
	out     []event.Envelope
	calls   []*Op // effects to call
	cancels []*Op // effects to ask to give way
}

// Config is what a machine needs of its shell.
type Config struct {
	// Body runs the flow's function and says how it ended. It runs on the main
	// branch.
	Body func(*Branch) End
	// Final is asked, once all branches of the body have ended, for what is left to do
	// before the execution ends as end says; nil for nothing. What it returns runs as
	// one more branch, which no cancel reaches, and says how the execution ends.
	Final func(end End) func(*Branch) End
	// Coroutine makes a coroutine of a branch's function.
	Coroutine func(fn func(yield func())) rt.Coroutine
	// Stamp reads the node's clock: a lower bound of the store's.
	Stamp func() event.Time
	// Latest reads an upper bound of the store's clock, from which a deadline is set,
	// so that no wait is short; nil for Stamp.
	Latest func() event.Time
}

// command is what a body asked for in a turn.
type command struct {
	op *Op // nil for an end
	p  event.Payload
}

// New returns the machine of an execution whose log is empty.
func New(id event.ExecutionID, cfg Config) *Machine {
	if cfg.Latest == nil {
		cfg.Latest = cfg.Stamp
	}
	return &Machine{id: id, state: fold.New(), cfg: cfg, ops: map[string]*Op{}}
}

// Bootstrap returns the envelope of sequence 0. It is the one builder of it: a
// start with a chosen id commits it before the body runs, a start with a minted
// id enqueues it, and the bytes are the same.
func Bootstrap(id event.ExecutionID, at event.Time, p event.ExecutionStarted, meta []byte) event.Envelope {
	return event.New(id, 0, at, p, meta)
}

// ID returns the execution's id.
func (m *Machine) ID() event.ExecutionID { return m.id }

// State returns the fold of all events, durable or not. It is the machine's own:
// the caller reads it on the machine's fiber and changes nothing.
func (m *Machine) State() *fold.State { return m.state }

// SetMeta sets the metadata of the events that are added from now on.
func (m *Machine) SetMeta(meta []byte) { m.meta = meta }

// Open reports whether an operation may still be settled.
func (m *Machine) Open(o *Op) bool { return o.Ending == Open && m.fault == nil && !m.Ended() }

// Ended reports whether the log has its end.
func (m *Machine) Ended() bool { return m.state.Status.Terminal() }

// Waits reports whether nothing of the body is under way but waiting: no effect
// is open that is being called, due to be, or that an earlier owner may have called.
// awaits tells whether a message
// could end one of the waits.
func (m *Machine) Waits() (only, awaits bool) {
	for o := m.opens.first; o != nil; o = o.next {
		switch {
		case o.Kind == fold.Effect && (o.Call != nil || o.Due == 0 || o.Inherited), o.Kind == fold.Child && !o.Started:
			return false, awaits
		case o.Kind == fold.Await, o.Kind == fold.Child:
			awaits = true
		}
	}
	return true, awaits
}

// Doubtful reports whether something is open of which nobody knows whether it was called:
// an attempt of an earlier owner's, a child whose start is not recorded.
func (m *Machine) Doubtful() bool {
	for o := m.opens.first; o != nil; o = o.next {
		if o.Kind == fold.Effect && o.Inherited || o.Kind == fold.Child && !o.Started {
			return true
		}
	}
	return false
}

// Awaiting returns the open await of a message of this name that has waited
// longest, nil if there is none.
func (m *Machine) Awaiting(name string) *Op {
	for o := m.opens.first; o != nil; o = o.next {
		if o.Kind == fold.Await && o.Name == name {
			return o
		}
	}
	return nil
}

// Awaits yields the open awaits, in the order of their creation: of two of one name the
// one that has waited longest comes first. Nothing may be settled meanwhile.
func (m *Machine) Awaits() iter.Seq[*Op] {
	return func(yield func(*Op) bool) {
		for o := m.opens.first; o != nil; o = o.next {
			if o.Kind == fold.Await && !yield(o) {
				return
			}
		}
	}
}

// OpenEffects returns the effects that are open, in the order of their creation.
func (m *Machine) OpenEffects() []*Op {
	var out []*Op
	for o := m.opens.first; o != nil; o = o.next {
		if o.Kind == fold.Effect {
			out = append(out, o)
		}
	}
	return out
}

// TakeEvents returns the events that were added since the last call, to be
// committed in this order. The caller owns them.
func (m *Machine) TakeEvents() []event.Envelope {
	out := m.out
	m.out = nil
	return out
}

// TakeCalls returns the effects that were asked for since the last call and are
// still open.
func (m *Machine) TakeCalls() []*Op { return takeOpen(&m.calls) }

// TakeCancels returns the effects that are to give way, since the last call.
func (m *Machine) TakeCancels() []*Op { return takeOpen(&m.cancels) }

func takeOpen(from *[]*Op) []*Op {
	all := *from
	*from = nil
	open := all[:0]
	for _, o := range all {
		if o.Ending == Open {
			open = append(open, o)
		}
	}
	return open
}

func (m *Machine) newBranch(parent *Branch, path string, fn func(*Branch)) *Branch {
	b := &Branch{m: m, path: path, parent: parent, fn: fn}
	b.co = m.cfg.Coroutine(b.run)
	m.branches = append(m.branches, b)
	m.wake(b)
	return b
}

func (m *Machine) wake(b *Branch) {
	if !b.queued && !b.done {
		b.queued = true
		m.ready = append(m.ready, b)
	}
}

// open registers an operation that b asked for.
func (m *Machine) open(b *Branch, o *Op) *Op {
	m.order++
	o.branch, o.order, o.heapAt, o.Intent = b, m.order, -1, event.None
	m.ops[o.Path] = o
	m.opens.add(o)
	return o
}

// settle closes an operation and wakes who waits for it.
func (m *Machine) settle(o *Op, how Ending, result json.RawMessage, f *event.Failure) {
	o.Ending, o.Result, o.Failure = how, result, f
	m.setDue(o, 0)
	delete(m.ops, o.Path)
	m.opens.remove(o)
	m.wakeWaiters(o)
}

func (m *Machine) wakeWaiters(o *Op) {
	if o.waiter != nil {
		m.wake(o.waiter)
		o.waiter = nil
	}
	for _, b := range o.waiters {
		m.wake(b)
	}
	o.waiters = nil
}

func (m *Machine) ask(o *Op, p event.Payload) { m.asked = append(m.asked, command{o, p}) }

// add gives p the next sequence.
func (m *Machine) add(p event.Payload, at event.Time) event.Seq {
	e := event.New(m.id, m.state.Head+1, max(at, m.state.Updated), p, m.meta)
	m.apply(e, p)
	if m.out == nil {
		m.out = make([]event.Envelope, 0, 2) // a result and the next intent
	}
	m.out = append(m.out, e)
	return e.Sequence
}

func (m *Machine) apply(e event.Envelope, p event.Payload) {
	if err := m.state.Apply(e, p); err != nil {
		panic(fmt.Sprintf("kernel: the machine wrote what its own fold refuses: %v", err))
	}
}
