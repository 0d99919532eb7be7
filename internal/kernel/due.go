package kernel

import (
	"container/heap"

	"github.com/loomwork/loom/event"
)

// dueHeap orders open operations by (Due, order of creation).
type dueHeap []*Op

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if h[i].Due != h[j].Due {
		return h[i].Due < h[j].Due
	}
	return h[i].order < h[j].order
}
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapAt, h[j].heapAt = i, j
}
func (h *dueHeap) Push(x any) {
	o := x.(*Op)
	o.heapAt = len(*h)
	*h = append(*h, o)
}
func (h *dueHeap) Pop() any {
	old := *h
	o := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	o.heapAt = -1
	return o
}

// setDue moves an operation's deadline; 0 for none.
func (m *Machine) setDue(o *Op, at event.Time) {
	o.Due = at
	switch {
	case at == 0 && o.heapAt >= 0:
		heap.Remove(&m.due, o.heapAt)
	case at == 0:
	case o.heapAt >= 0:
		heap.Fix(&m.due, o.heapAt)
	default:
		heap.Push(&m.due, o)
	}
}

// NextDue returns the earliest deadline of an open operation, event.Never if
// there is none.
func (m *Machine) NextDue() event.Time {
	if len(m.due) == 0 {
		return event.Never
	}
	return m.due[0].Due
}

// TakeDue returns the operation with the earliest deadline at or before now and
// takes the deadline off it, nil if none is due. The caller fires it, calls it
// again or gives it up.
func (m *Machine) TakeDue(now event.Time) *Op {
	if len(m.due) == 0 || m.due[0].Due > now {
		return nil
	}
	o := m.due[0]
	m.setDue(o, 0)
	return o
}

// CallAt sets when an open effect is to be looked at again, 0 for no such instant.
// Nothing of it is recorded.
func (m *Machine) CallAt(o *Op, at event.Time) { m.GiveUpAt(o, at) }

// GiveUpAt sets when a cancelled effect that does not settle is given up.
func (m *Machine) GiveUpAt(o *Op, at event.Time) {
	if o.Ending == Open {
		m.setDue(o, at)
	}
}
