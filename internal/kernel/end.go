package kernel

import (
	"encoding/json"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
)

// End is how a body ended: with a result, a failure, or to be entered anew.
type End struct {
	Result  json.RawMessage
	Failure *event.Failure
	// Again is the input of the next generation, nil for none.
	Again json.RawMessage
	// GaveWay says that Failure is what a cancel made of the body: a code alone may be
	// anybody's.
	GaveWay bool
}

// outcome says how a branch that returns an End has ended: by end, unless it panicked
// or ended its goroutine.
func (b *Branch) outcome(end *End) End {
	switch {
	case b.Panic != nil:
		return End{Failure: PanicFailure(b.Panic)}
	case end == nil:
		return End{Failure: &event.Failure{Code: event.CodeExited, Message: "the body ended its goroutine"}}
	}
	return *end
}

// beginFinal begins the final branch, once, if there is anything for it to do.
func (m *Machine) beginFinal() bool {
	if m.final != nil || m.cfg.Final == nil {
		return false
	}
	end := m.main.outcome(m.end)
	fn := m.cfg.Final(end)
	if fn == nil {
		return false
	}
	m.end, m.finishing, m.finally = nil, false, fn
	path := event.FinalPath
	if m.state.Generation > 1 {
		path = m.main.path + "/" + path
	}
	m.final = m.newBranch(nil, path, m.finish)
	m.final.shielded = !sabotage.On("cancel-in-final")
	return true
}

// finish is the final branch's function; no closure, for the same reason as body.
func (m *Machine) finish(b *Branch) {
	end := m.finally(b)
	m.end = &end
}

// ending returns the event that ends the execution, or its generation.
func (m *Machine) ending() event.Payload {
	last := m.main
	if m.final != nil {
		last = m.final
	}
	end := last.outcome(m.end)
	f, cancel := end.Failure, m.state.Cancel
	switch {
	case f == nil && end.Again != nil:
		return event.ExecutionContinued{Generation: m.state.Generation + 1, Input: end.Again}
	case f == nil:
		return event.ExecutionCompleted{Result: end.Result}
	case cancel != nil && end.GaveWay && cancel.Cause == CauseDeadline:
		return event.ExecutionFailed{Error: &event.Failure{Code: event.CodeDeadline,
			Message: "the execution's deadline passed", Chain: append([]string{f.Code}, f.Chain...), Details: f.Details}}
	case cancel != nil && end.GaveWay:
		return event.ExecutionCancelled{Error: f}
	}
	return event.ExecutionFailed{Error: f}
}
