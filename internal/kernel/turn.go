package kernel

import (
	"encoding/json"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
)

// Adopt takes sequence 0, which is durable or about to be enqueued by the
// caller, and runs the first turn. It refuses, with false and without a change,
// anything but the bootstrap envelope of this execution on an empty log.
func (m *Machine) Adopt(e event.Envelope, p event.ExecutionStarted) bool {
	if e.Execution != m.id || m.state.Apply(e, p) != nil {
		return false
	}
	m.now = e.Time
	m.begin()
	m.run()
	m.issue(m.asked)
	return true
}

// CompleteEffect records an effect's result.
func (m *Machine) CompleteEffect(o *Op, result json.RawMessage) {
	m.turn(event.EffectCompleted{Op: o.Path, Result: result}, func() { m.settle(o, Completed, result, nil) })
}

// FailEffect settles an effect with an error; attempt is that which failed last,
// 0 for none.
func (m *Machine) FailEffect(o *Op, attempt int, f *event.Failure) {
	m.turn(event.EffectFailed{Op: o.Path, Attempt: attempt, Error: f}, func() { m.settle(o, Failed, nil, f) })
}

// FailAttempt records a failed attempt that will be repeated at notBefore. It
// makes no turn.
func (m *Machine) FailAttempt(o *Op, f *event.Failure, notBefore event.Time) {
	if m.fault != nil {
		return
	}
	o.Attempts++
	seq := m.add(event.EffectAttemptFailed{Op: o.Path, Attempt: o.Attempts, Error: f, NotBefore: notBefore}, m.cfg.Stamp())
	if !sabotage.On("attempt-not-durable") {
		o.Intent = seq
	}
	m.setDue(o, notBefore)
}

// Progress records how far an open effect has come, and returns the event's sequence.
// It makes no turn.
func (m *Machine) Progress(o *Op, value json.RawMessage) event.Seq {
	if m.fault != nil {
		return m.state.Head
	}
	o.Progress = value
	return m.add(event.EffectProgressed{Op: o.Path, Value: value}, m.cfg.Stamp())
}

// Terminate ends the execution from outside. The body is told nothing; its branches
// stay as they are until the machine is unloaded.
func (m *Machine) Terminate(p event.ExecutionTerminated) { m.add(p, m.cfg.Stamp()) }

// Pause records that an operator halts the execution. It makes no turn; whoever drives
// the machine takes none after it.
func (m *Machine) Pause(p event.ExecutionPaused) { m.add(p, m.cfg.Stamp()) }

// Fire records that the deadline of a timer or await has passed.
func (m *Machine) Fire(o *Op) {
	m.turn(event.TimerFired{Op: o.Path}, func() { m.settle(o, Fired, nil, nil) })
}

// Receive records a message for the await o.
func (m *Machine) Receive(o *Op, message string, body json.RawMessage) {
	p := event.MessageReceived{Op: o.Path, Name: o.Name, Message: message, Body: body}
	m.turn(p, func() {
		o.Message = message
		m.settle(o, Received, body, nil)
	})
}

// Cancel records that the execution is asked to give way. Only the first request
// changes anything in the body.
func (m *Machine) Cancel(p event.CancelRequested) {
	first := m.state.Cancel == nil
	m.turn(p, func() {
		if first {
			m.cancelAll()
		}
	})
}

// turn takes one inbound event live.
func (m *Machine) turn(in event.Payload, deliver func()) {
	if m.fault != nil {
		return // a recorded event would say that its turn has run
	}
	m.add(in, m.cfg.Stamp())
	m.now = m.state.Updated
	deliver()
	m.run()
	m.issue(m.asked)
}

// begin makes the main branch ready.
func (m *Machine) begin() {
	// What is shown outlives its generation.
	m.published = nil
	for key := range m.state.Published { // order does not matter: a set is made of it
		m.showKey(key)
	}
	path := event.GenerationPath(m.state.Generation)
	if sabotage.On("generations-share-paths") {
		path = ""
	}
	m.main = m.newBranch(nil, path, m.body)
}

// body is the main branch's function. It is no closure: one of those is called
// after whom it was inlined into, and recorded stacks would differ.
func (m *Machine) body(b *Branch) {
	end := m.cfg.Body(b)
	m.end = &end
}

// run runs ready branches, first in, first out, until none is ready. When the
// body has returned, its other branches give way; when the last has ended comes the
// final branch, and when that has ended the end is asked for.
func (m *Machine) run() {
	for {
		for len(m.ready) > 0 {
			b := m.ready[0]
			m.ready = m.ready[1:]
			b.queued = false
			m.resume(b)
		}
		m.ready = nil
		if m.main == nil || !m.main.done || m.again || m.Ended() {
			return
		}
		if len(m.branches) == 0 {
			if m.beginFinal() {
				continue
			}
			m.ask(nil, m.ending())
			return
		}
		if m.finishing || m.final != nil && !m.final.done {
			return // the final branch is at it, or effects of others have yet to settle
		}
		m.finishing = true
		for _, b := range append([]*Branch(nil), m.branches...) {
			m.cancelBranch(b)
		}
	}
}

func (m *Machine) resume(b *Branch) {
	if b.done {
		return
	}
	m.cur, b.begun = b, true
	alive := b.co.Resume()
	m.cur = nil
	if alive {
		return
	}
	m.ends++
	b.done, b.ended = true, m.ends
	for i, other := range m.branches {
		if other == b {
			m.branches = append(m.branches[:i], m.branches[i+1:]...)
			break
		}
	}
	for _, w := range b.waiters {
		m.wake(w)
	}
	b.waiters = nil
}

// issue gives commands their sequences, and timers their deadlines.
func (m *Machine) issue(commands []command) {
	if len(commands) == 0 || m.fault != nil {
		return
	}
	at := max(m.cfg.Stamp(), m.state.Updated)
	for _, c := range commands {
		m.sequence(c, at)
	}
	clear(m.asked)
	m.asked = m.asked[:0]
}

func (m *Machine) sequence(c command, at event.Time) {
	p := c.p
	if c.op != nil && c.op.after != nil {
		due := c.op.after(max(m.cfg.Latest(), at))
		switch q := p.(type) {
		case event.TimerScheduled:
			q.Deadline = due
			p = q
		case event.MessageAwaited:
			q.Deadline = due
			p = q
		}
		if c.op.Ending == Open {
			m.setDue(c.op, due)
		}
	}
	seq := m.add(p, at)
	if _, again := p.(event.ExecutionContinued); again {
		m.now = m.state.Updated
		m.renew()
		return
	}
	if c.op != nil && c.op.Effect != nil {
		c.op.Intent = seq
	}
}
