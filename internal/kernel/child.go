package kernel

import (
	"encoding/json"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// Child asks for a child. The effect is its start: one that is tried until it is known
// to be durable or to be impossible.
func (b *Branch) Child(name string, child event.ExecutionID, flow, onCancel string, start *Effect) (*Op, Denial) {
	path, d := b.begin(name)
	if d != Allowed {
		return nil, d
	}
	if child == "" {
		child = ChildID(b.m.id, b.m.state.Seed, path)
	}
	o := b.m.open(b, &Op{Path: path, Kind: fold.Child, Effect: start, Child: child, OnCancel: onCancel})
	b.m.ask(o, event.ChildScheduled{Op: path, Execution: child, Flow: flow, OnCancel: onCancel})
	b.m.calls = append(b.m.calls, o)
	return o, Allowed
}

// WaitStarted parks the branch until a child is durable or has settled.
func (b *Branch) WaitStarted(o *Op) {
	for o.Ending == Open && !o.Started {
		o.wakes(b)
		b.park()
	}
}

// WaitOther is Wait for an operation that any branch may have opened.
func (b *Branch) WaitOther(o *Op) Denial {
	if d := b.Enter(); d != Allowed {
		return d
	}
	b.Wait(o)
	return Allowed
}

// Status is how a settled child ended, as recorded.
func (o *Op) Status() string { return o.status }

// StartedChild records that a child is durable.
func (m *Machine) StartedChild(o *Op) {
	m.turn(event.ChildStarted{Op: o.Path}, func() { m.started(o) })
}

// SettleChild records how a child ended.
func (m *Machine) SettleChild(o *Op, p event.ChildSettled) {
	p.Op = o.Path
	m.turn(p, func() { m.settled(o, p) })
}

func (m *Machine) started(o *Op) {
	o.Started = true
	m.setDue(o, 0)
	if o.Cancelled && o.OnCancel == event.OnCancelAbandon {
		m.settle(o, GaveWay, nil, nil) // its start was under way when the cancel came
		return
	}
	m.wakeWaiters(o)
}

func (m *Machine) settled(o *Op, p event.ChildSettled) {
	o.status = p.Status
	if p.Error != nil {
		m.settle(o, Failed, nil, p.Error)
		return
	}
	result := p.Result
	if result == nil {
		result = json.RawMessage("null")
	}
	m.settle(o, Completed, result, nil)
}

// Children returns the open children, in the order of their creation.
func (m *Machine) Children() []*Op {
	var out []*Op
	for o := m.opens.first; o != nil; o = o.next {
		if o.Kind == fold.Child {
			out = append(out, o)
		}
	}
	return out
}

// ChildAt returns the open child at a path, nil if there is none.
func (m *Machine) ChildAt(path string) *Op {
	if o := m.ops[path]; o != nil && o.Kind == fold.Child {
		return o
	}
	return nil
}

// Room for what [ChildID] puts behind the parent's id.
const (
	childKeyBytes  = 26
	childRootBytes = 100
)

// ChildID returns the id that a child at path has if none is chosen for it: it is the
// parent's, or the beginning of that if there is no room for it, with a key that is made
// of the parent's id and seed and of the path. So it is the same whenever the parent is
// recovered, and another one if the parent's id is started anew.
func ChildID(parent event.ExecutionID, seed, path string) event.ExecutionID {
	d := derive("loom/child/1", parent, seed, path)
	root := string(parent)
	if len(root)+1+childKeyBytes > event.MaxIDBytes {
		root = root[:childRootBytes]
	}
	return event.ExecutionID(root + "/" + keyText.EncodeToString(d[:])[:childKeyBytes])
}

// Fingerprint returns what tells an execution from another one that had its id: a hash
// of its first event's payload, 26 characters.
func Fingerprint(id event.ExecutionID, first []byte) string {
	d := derive("loom/fingerprint/1", id, string(first), "")
	return keyText.EncodeToString(d[:])[:childKeyBytes]
}
