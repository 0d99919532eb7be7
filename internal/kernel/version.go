package kernel

import (
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
)

// lookahead is what is recorded of the turn that runs, for the one question to which
// the answer depends on it: which version of a change a body runs.
type lookahead struct {
	behind []Recorded // the events behind the turn's inbound one
	whole  bool       // the turn asks for nothing beyond them
}

// next returns the n-th recorded command of the turn, nil if there are fewer.
func (l *lookahead) next(n int) event.Payload {
	for _, r := range l.behind {
		if r.Envelope.Kind.Role() != event.Command {
			continue
		}
		if n == 0 {
			return r.Payload
		}
		n--
	}
	return nil
}

// Version returns which version of a change the branch runs: the one that is marked;
// else lo, if commands are recorded from here on, which were asked for by code without
// the change; else hi, which is marked with that.
//
// If the marked version is not one of lo to hi, this build cannot go on with the
// execution. The branch then stands still, for good, and the machine has a fault.
func (b *Branch) Version(change string, lo, hi int) (int, Denial) {
	if d := b.Enter(); d != Allowed {
		return hi, d
	}
	m := b.m
	v, marked := m.versions[change]
	if !marked {
		next := m.ahead.next(len(m.asked))
		p, here := next.(event.VersionMarked)
		switch {
		case here && p.Change == change:
			v = p.Version
		case next != nil || m.ahead.whole:
			return lo, Allowed
		default:
			v = hi
		}
		if m.versions == nil {
			m.versions = map[string]int{}
		}
		m.versions[change] = v
		if sabotage.On("version-unmarked") {
			return v, Allowed
		}
		m.ask(nil, event.VersionMarked{Change: change, Version: v})
	}
	if v < lo || v > hi {
		m.fault = &Divergence{Sequence: m.state.Head + 1, Recorded: fmt.Sprintf("version %d of %s", v, change),
			Asked: fmt.Sprintf("one of %d to %d", lo, hi)}
		for {
			b.park()
		}
	}
	return v, Allowed
}

// Fault returns why the body cannot go on with what is recorded, a [*Divergence], nil
// if it can. A machine with a fault takes no further turn; what it added before that is
// right.
func (m *Machine) Fault() error { return m.fault }
