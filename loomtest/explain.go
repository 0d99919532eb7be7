package loomtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/sim"
	"github.com/loomwork/loom/store"
)

// isForeign reports whether a text is that of a goroutine that is no fiber.
func isForeign(text string) bool { return strings.HasPrefix(text, "called from a goroutine") }

// explain says for people how a world failed: why, and what was open.
func (e *Env) explain(err error) error {
	var f *sim.Failure
	if !errors.As(err, &f) {
		return err
	}
	text := f.Reason
	if isForeign(text) {
		return errors.New(text)
	}
	for _, id := range e.ids() {
		if s, err := fold.Log(e.Log(string(id))); err == nil && s.Status == fold.Running {
			text += "\n  " + describe(s)
		}
	}
	return fmt.Errorf("after %v: %s", f.At, text)
}

// ids are the executions of the store, oldest first.
func (e *Env) ids() (ids []event.ExecutionID) {
	q := store.Query{Limit: 1000}
	for {
		heads, next, err := e.db.List(context.Background(), q)
		if err != nil {
			return ids
		}
		for _, h := range heads {
			ids = append([]event.ExecutionID{h.Execution}, ids...)
		}
		if next == "" {
			return ids
		}
		q.After = next
	}
}

// describe says what an execution that runs has open.
func describe(s *fold.State) string {
	text := fmt.Sprintf("execution %s of flow %s has %d events", s.Execution, s.Flow, s.Head+1)
	for i := range s.Ops {
		o := &s.Ops[i]
		if !o.Open() {
			continue
		}
		text += fmt.Sprintf("; %s %s is %s", o.Kind, o.Path, o.Status)
		if o.Due != 0 && o.Due != event.Never {
			text += fmt.Sprintf(" until %s", o.Due.Time().Format("2006-01-02 15:04:05"))
		}
	}
	return text
}

// logText is a log for people, an event a line.
func logText(log []event.Envelope) string {
	var b strings.Builder
	for _, env := range log {
		fmt.Fprintf(&b, "  %4d %s %-22s %s\n", env.Sequence, env.Time.Time().Format("2006-01-02 15:04:05.000"), env.Kind, env.Payload)
	}
	return b.String()
}
