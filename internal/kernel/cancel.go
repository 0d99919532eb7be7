package kernel

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// Causes of a cancel, as recorded.
const (
	CauseAsked    = "asked"
	CauseDeadline = "deadline"
)

// cancelAll asks everything open to give way, but what the final branch does: timers
// and awaits end at once, an effect is asked to and goes on until it settles.
func (m *Machine) cancelAll() { m.giveWay(func(o *Op) bool { return !o.branch.shielded }) }

// cancelBranch does the same for one branch and those it began, which may outlive
// it.
func (m *Machine) cancelBranch(b *Branch) {
	if b.cancelled {
		return
	}
	b.cancelled = true
	for _, c := range m.branches {
		if within(c, b) {
			c.cancelled = true
		}
	}
	m.giveWay(func(o *Op) bool { return within(o.branch, b) })
}

func within(b, ancestor *Branch) bool {
	for ; b != nil; b = b.parent {
		if b == ancestor {
			return true
		}
	}
	return false
}

func (m *Machine) giveWay(which func(*Op) bool) {
	for o := m.opens.first; o != nil; {
		next := o.next
		switch {
		case !which(o) || o.Cancelled:
		case o.Kind == fold.Effect, o.Kind == fold.Child && (o.OnCancel != event.OnCancelAbandon || !o.Started):
			o.Cancelled = true
			m.cancels = append(m.cancels, o)
		default:
			m.settle(o, GaveWay, nil, nil)
		}
		o = next
	}
}

// PanicFailure returns what is recorded of a panic. Its text is cut to
// [event.MaxMessageBytes] of valid UTF-8.
func PanicFailure(p *Panic) *event.Failure {
	text := strings.ToValidUTF8(fmt.Sprint(p.Value), "\uFFFD")
	if len(text) > event.MaxMessageBytes {
		end := event.MaxMessageBytes
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return &event.Failure{Code: event.CodePanic, Message: text, Stack: p.Stack}
}

// Unload unwinds every branch: deferred functions run, verbs that they call do
// nothing. The machine takes no further turn.
func (m *Machine) Unload() {
	m.unloading = true
	for len(m.branches) > 0 {
		b := m.branches[0]
		if !b.begun { // its function never ran, so there is nothing to unwind
			b.done = true
			m.branches = m.branches[1:]
			continue
		}
		m.resume(b)
	}
}
