package kernel

import "github.com/loomwork/loom/event"

// renew forgets what belongs to the generation that has ended.
func (m *Machine) renew() {
	m.again = true
	m.main, m.end, m.final, m.finally, m.finishing = nil, nil, nil, nil, false
	for o := m.opens.first; o != nil; o = o.next { // children that nobody waits for
		m.setDue(o, 0)
		o.Ending = GaveWay
	}
	clear(m.ops)
	m.opens, m.calls, m.cancels, m.versions = opList{}, nil, nil, nil
}

// Continuing reports whether a generation has ended and the next has not begun. The shell
// begins it once the event that says so is durable.
func (m *Machine) Continuing() bool { return m.again }

// Continue begins the next generation and runs its first turn.
func (m *Machine) Continue() {
	m.again = false
	m.begin()
	m.run()
	m.issue(m.asked)
}

// generation returns the place in a log at which its last generation begins, 0 for the
// first.
func generation(rec []Recorded) int {
	for i := len(rec) - 1; i > 0; i-- {
		if rec[i].Envelope.Kind == event.KindExecutionContinued {
			return i
		}
	}
	return 0
}

// skip folds the generations that have ended. Their bodies are not run again.
func (m *Machine) skip(rec []Recorded) error {
	for _, r := range rec {
		if err := m.state.Apply(r.Envelope, r.Payload); err != nil {
			return err
		}
	}
	return nil
}
