package loom

import (
	"slices"
	"strings"

	"github.com/loomwork/loom/store"
)

// How much of its mail a run keeps in memory: what is beyond stays in the inbox, and is
// read again once the body asks for it. Both are overrun by one page at the most.
const (
	maxHeld      = 1024
	maxHeldBytes = 1 << 20
)

// mailbox is what a run knows of its execution's inbox: what it has looked at and nobody
// has received.
type mailbox struct {
	queues  map[string][]store.Message // held, by name, each by number
	count   int                        // of what is held
	bytes   int
	through int64 // all that is pending up to this number is held
	// past says of a name that all its messages up to a number are held as well.
	past    map[string]int64
	control []store.Message // Loom's own to the run, all of them, by number

	counts map[string]int // of messages that nobody has received, by name
	names  []string       // of counts, in the order in which they first came
}

// controls reports whether a message is for the run and not for an await.
func controls(m *store.Message) bool {
	return m.Name == cancelMessage || m.Name == terminateMessage || m.Name == childMessage || m.Name == pauseMessage
}

// full reports whether nothing more is kept.
func (b *mailbox) full() bool { return b.count >= maxHeld || b.count > 0 && b.bytes >= maxHeldBytes }

// look takes a message that is new to the run; seen is what the run had looked at before.
func (b *mailbox) look(m store.Message, seen int64) {
	b.tally(&m)
	switch {
	case controls(&m):
		b.control = append(b.control, m)
	case b.through < seen || b.full():
		return // it is beyond what is kept
	default:
		b.hold(m)
	}
	if b.through >= seen {
		b.through = m.N
	}
}

// reach says that there is nothing between the last message and n.
func (b *mailbox) reach(n, seen int64) {
	if b.through >= seen {
		b.through = max(b.through, n)
	}
}

func (b *mailbox) hold(m store.Message) {
	if b.queues == nil {
		b.queues = map[string][]store.Message{}
	}
	b.queues[m.Name] = append(b.queues[m.Name], m)
	b.count++
	b.bytes += len(m.Body)
}

// refill takes messages behind through, which the run has looked at before; last says
// that there are no more up to seen.
func (b *mailbox) refill(ms []store.Message, last bool, seen int64) {
	for _, m := range ms {
		if m.N > seen {
			break // it is looked at first
		}
		if !controls(&m) && m.N > b.past[m.Name] {
			if b.full() {
				return
			}
			b.hold(m)
		}
		b.through = m.N
	}
	if last {
		b.through = seen
	}
}

// search takes the messages of one name out of a page behind through.
func (b *mailbox) search(name string, ms []store.Message, last bool, seen int64) (found bool) {
	if b.past == nil {
		b.past = map[string]int64{}
	}
	for _, m := range ms {
		if m.N > seen {
			last = true
			break
		}
		b.past[name] = m.N
		if m.Name == name {
			found = true
			b.hold(m)
		}
	}
	if last {
		b.past[name] = seen
	}
	return found
}

// unsearched returns from where the inbox may hold a message of the name that is not held
// and comes before any that is; ok is false for nowhere.
func (b *mailbox) unsearched(name string, seen int64) (after int64, ok bool) {
	after = max(b.through, b.past[name])
	return after, len(b.queues[name]) == 0 && after < seen
}

// first returns the first message held of a name, nil for none.
func (b *mailbox) first(name string) *store.Message {
	if q := b.queues[name]; len(q) > 0 {
		return &q[0]
	}
	return nil
}

// took takes the first message of a name off, because it is received or dropped.
func (b *mailbox) took(name string) {
	q := b.queues[name]
	b.count--
	b.bytes -= len(q[0].Body)
	q[0] = store.Message{}
	if b.queues[name] = q[1:]; len(q) == 1 {
		delete(b.queues, name)
	}
	if n := b.counts[name]; n > 1 {
		b.counts[name] = n - 1
	} else { // the last, or a request, which is not counted
		delete(b.counts, name)
	}
}

// tally counts a message for who wants to know at the end.
func (b *mailbox) tally(m *store.Message) {
	if strings.HasPrefix(m.Name, reserved) {
		return
	}
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	if b.counts[m.Name] == 0 && !slices.Contains(b.names, m.Name) && len(b.names) < maxPairs {
		b.names = append(b.names, m.Name)
	}
	b.counts[m.Name]++
}

// leftover describes what nobody received, nil for nothing. Names beyond the first few are
// counted and not told.
func (x *run) leftover() error {
	out := &LeftoverError{ID: x.id}
	for _, n := range x.box.counts { // order does not matter: only added up
		out.Count += n
	}
	for _, name := range x.box.names {
		if x.box.counts[name] > 0 {
			out.Names = append(out.Names, name)
		}
	}
	if out.Count == 0 {
		return nil
	}
	return out
}
