package kernel

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/sabotage"
)

// Divergence says where a body asked for something else than the log holds.
type Divergence struct {
	Sequence event.Seq // of the recorded event, or where it would stand
	Recorded string    // what the log holds, "nothing" for nothing
	Asked    string    // what the body asked for, "nothing" for nothing
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("the log holds %s at sequence %d, the code asked for %s", d.Recorded, d.Sequence, d.Asked)
}

const nothing = "nothing"

// Recorded is an event of a log with its payload.
type Recorded struct {
	Envelope event.Envelope
	Payload  event.Payload
}

// Decode returns the events of a log with their payloads. The error is an
// [*event.DecodeError], and nothing else.
func Decode(log []event.Envelope) ([]Recorded, error) {
	rec := make([]Recorded, len(log))
	for i, e := range log {
		p, err := e.Decode()
		if err != nil {
			return nil, err
		}
		rec[i] = Recorded{e, p}
	}
	return rec, nil
}

// Replay drives the machine, which must be new, over a recorded log. In every
// turn but the last the commands that the body asks for must equal those
// recorded, in order, by kind and identity; in the last turn the recorded ones
// must be a prefix, because a commit may have cut it, and what is beyond is
// issued live (see [Machine.TakeEvents]). Of an execution that continued, only the last
// generation is run. The error is a [*Divergence] or a
// [*fold.LogError], and nothing else; after it the machine can only be unloaded.
func (m *Machine) Replay(rec []Recorded) error {
	first := generation(rec)
	if err := m.skip(rec[:first]); err != nil {
		return err
	}
	m.state.Grow((len(rec) - first) / 2) // an operation is two events and more
	m.replaying = true
	for i := first; i < len(rec); {
		in := rec[i]
		if in.Envelope.Kind.Role() != event.Inbound {
			if err := m.between(in); err != nil {
				return err
			}
			i++
			continue
		}
		j := i + 1
		for j < len(rec) && rec[j].Envelope.Kind.Role() != event.Inbound {
			j++
		}
		m.replaying = j < len(rec)
		m.before = i > first || j > first+1
		if err := m.repeat(in, rec[i+1:j], j == len(rec)); err != nil {
			return err
		}
		i = j
	}
	m.replaying, m.before = false, false
	return nil
}

// RanBefore reports whether the turn that runs has run before, in the life of
// whoever recorded it. Only the first turn can be recorded and not have run: what
// begins a generation is durable before its body.
func (b *Branch) RanBefore() bool { return b.m.before }

// between takes a recorded event that begins no turn and belongs to none: a
// command here was recorded before anything was asked.
func (m *Machine) between(r Recorded) error {
	if r.Envelope.Kind.Role() == event.Command {
		return &Divergence{Sequence: r.Envelope.Sequence, Recorded: describe(r.Payload), Asked: nothing}
	}
	return m.passive(r)
}

// passive applies a recorded event that the body does not see.
func (m *Machine) passive(r Recorded) error {
	nobody := &Divergence{Sequence: r.Envelope.Sequence, Recorded: describe(r.Payload), Asked: nothing}
	switch p := r.Payload.(type) {
	case event.EffectAttemptFailed:
		o := m.ops[p.Op]
		if o == nil || o.Kind != fold.Effect {
			return nobody
		}
		o.Attempts, o.Intent = p.Attempt, r.Envelope.Sequence
		m.setDue(o, p.NotBefore)
	case event.EffectProgressed:
		o := m.ops[p.Op]
		if o == nil || o.Kind != fold.Effect {
			return nobody
		}
		if !sabotage.On("progress-forgotten") {
			o.Progress = p.Value
		}
	}
	return m.state.Apply(r.Envelope, r.Payload)
}

// complete reports whether the commands of a recorded turn are all there: what stands
// behind them came after them.
func complete(behind []Recorded) bool {
	for _, r := range behind {
		switch r.Payload.(type) {
		case event.EffectAttemptFailed, event.EffectProgressed:
			return true
		}
	}
	return false
}

// repeat replays one turn: the inbound event in, and the events recorded behind
// it.
func (m *Machine) repeat(in Recorded, behind []Recorded, last bool) error {
	whole := !last || complete(behind) // whether nothing may be asked beyond the recorded
	m.ahead = lookahead{behind, whole}
	if err := m.redeliver(in); err != nil {
		return err
	}
	m.run()
	m.ahead = lookahead{}
	if m.fault != nil {
		return m.fault
	}
	asked := m.asked
	k := 0
	for _, r := range behind {
		if r.Envelope.Kind.Role() == event.Passive {
			if err := m.passive(r); err != nil {
				return err
			}
			continue
		}
		if k == len(asked) {
			return &Divergence{Sequence: r.Envelope.Sequence, Recorded: describe(r.Payload), Asked: nothing}
		}
		if !same(r.Payload, asked[k].p) {
			return &Divergence{Sequence: r.Envelope.Sequence, Recorded: describe(r.Payload), Asked: describe(asked[k].p)}
		}
		if err := m.state.Apply(r.Envelope, r.Payload); err != nil {
			return err
		}
		m.keep(asked[k].op, r)
		k++
	}
	rest := append([]command(nil), asked[k:]...)
	m.asked = m.asked[:0]
	if m.state.Status == fold.Terminated {
		return nil // whatever else the body asked for
	}
	if len(rest) > 0 && whole {
		return &Divergence{Sequence: m.state.Head + 1, Recorded: nothing, Asked: describe(rest[0].p)}
	}
	m.issue(rest)
	return nil
}

// keep gives an operation what was recorded of it: deadlines above all, which are
// never computed twice.
func (m *Machine) keep(o *Op, r Recorded) {
	if o == nil {
		return
	}
	switch p := r.Payload.(type) {
	case event.EffectScheduled:
		o.Intent = r.Envelope.Sequence
	case event.TimerScheduled:
		if o.Ending == Open {
			if sabotage.On("deadline-anew") {
				p.Deadline = o.after(m.cfg.Stamp())
			}
			m.setDue(o, p.Deadline)
		}
	case event.ChildScheduled:
		o.Intent = r.Envelope.Sequence
	case event.MessageAwaited:
		if o.Ending == Open {
			m.setDue(o, p.Deadline)
		}
	}
}

// redeliver applies a recorded inbound event and hands it to the body.
func (m *Machine) redeliver(r Recorded) error {
	first := m.state.Cancel == nil
	if err := m.state.Apply(r.Envelope, r.Payload); err != nil {
		return err
	}
	m.now = r.Envelope.Time
	nobody := &Divergence{Sequence: r.Envelope.Sequence, Recorded: describe(r.Payload), Asked: nothing}
	switch p := r.Payload.(type) {
	case event.ExecutionStarted, event.ExecutionContinued:
		m.begin()
	case event.EffectCompleted:
		o := m.ops[p.Op]
		if o == nil || o.Kind != fold.Effect {
			return nobody
		}
		m.settle(o, Completed, p.Result, nil)
	case event.EffectFailed:
		o := m.ops[p.Op]
		if o == nil || o.Kind != fold.Effect {
			return nobody
		}
		m.settle(o, Failed, nil, p.Error)
	case event.TimerFired:
		o := m.ops[p.Op]
		if o == nil || o.Kind != fold.Timer && o.Kind != fold.Await {
			return nobody
		}
		m.settle(o, Fired, nil, nil)
	case event.MessageReceived:
		o := m.ops[p.Op]
		if o == nil || o.Name != p.Name {
			return nobody
		}
		o.Message = p.Message
		m.settle(o, Received, p.Body, nil)
	case event.ChildStarted:
		o := m.ChildAt(p.Op)
		if o == nil {
			return nobody
		}
		m.started(o)
	case event.ChildSettled:
		o := m.ChildAt(p.Op)
		if o == nil {
			return nobody
		}
		m.settled(o, p)
	case event.CancelRequested:
		if first {
			m.cancelAll()
		}
	}
	return nil
}

// same compares a recorded command with an asked one by kind and identity.
func same(rec, asked event.Payload) bool {
	switch r := rec.(type) {
	case event.EffectScheduled:
		a, ok := asked.(event.EffectScheduled)
		return ok && r.Op == a.Op && bytes.Equal(r.Args, a.Args)
	case event.TimerScheduled:
		a, ok := asked.(event.TimerScheduled)
		return ok && r.Op == a.Op
	case event.MessageAwaited:
		a, ok := asked.(event.MessageAwaited)
		return ok && r.Op == a.Op && r.Name == a.Name
	case event.ChildScheduled:
		a, ok := asked.(event.ChildScheduled)
		return ok && r == a
	case event.VersionMarked:
		a, ok := asked.(event.VersionMarked)
		return ok && r == a
	case event.StateSet:
		a, ok := asked.(event.StateSet)
		return ok && r.Key == a.Key && bytes.Equal(r.Value, a.Value)
	case event.RequestAnswered:
		a, ok := asked.(event.RequestAnswered)
		return ok && sameAnswer(r, a)
	case event.ExecutionCompleted:
		a, ok := asked.(event.ExecutionCompleted)
		return ok && bytes.Equal(r.Result, a.Result)
	}
	return rec.Kind() == asked.Kind()
}

// Describe names an event that the machine wrote, for people: its kind and operation.
func Describe(e event.Envelope) string {
	p, err := e.Decode()
	if err != nil {
		return string(e.Kind)
	}
	return describe(p)
}

// describe names a command or event for people.
func describe(p event.Payload) string {
	op := ""
	switch p := p.(type) {
	case event.EffectScheduled:
		op = p.Op
		if p.Args != nil {
			op += " args " + cut(p.Args)
		}
	case event.EffectAttemptFailed:
		op = p.Op
	case event.EffectCompleted:
		op = p.Op
	case event.EffectFailed:
		op = p.Op
	case event.EffectProgressed:
		op = p.Op
	case event.ChildScheduled:
		op = p.Op + " " + string(p.Execution) + " of " + p.Flow
	case event.ChildStarted:
		op = p.Op
	case event.ChildSettled:
		op = p.Op
	case event.VersionMarked:
		op = p.Change + " version " + strconv.Itoa(p.Version)
	case event.StateSet:
		op = p.Key + " " + cut(p.Value)
	case event.TimerScheduled:
		op = p.Op
	case event.TimerFired:
		op = p.Op
	case event.MessageAwaited:
		op = p.Op + " of " + p.Name
	case event.MessageReceived:
		op = p.Op + " of " + p.Name
	case event.RequestAnswered:
		op = "to " + p.Request
	}
	if op == "" {
		return string(p.Kind())
	}
	return string(p.Kind()) + " " + op
}

// cut returns the beginning of a value, for people.
func cut(raw []byte) string {
	if len(raw) > 80 {
		return string(raw[:80]) + "…"
	}
	return string(raw)
}
