package sim

import (
	"fmt"
	"time"
)

// trace keeps the last lines of what happened, for a failure's text.
type trace struct {
	ring [256]line
	n    int
}

type line struct {
	step  int64
	at    time.Duration
	fiber *fiber // nil for none
	text  string // "" for a step
}

func (l line) String() string {
	who := "-"
	if l.fiber != nil {
		who = fmt.Sprintf("%s/%s#%d", l.fiber.node.name, l.fiber.name, l.fiber.id)
	}
	return fmt.Sprintf("%6d %12v %s %s", l.step, l.at, who, l.text)
}

func (t *trace) add(w *World, f *fiber, text string) {
	l := line{w.steps.Load(), w.now, f, text}
	t.ring[t.n%len(t.ring)] = l
	t.n++
	if w.opts.Verbose != nil {
		w.opts.Verbose(l.String())
	}
}

func (t *trace) step(w *World, f *fiber) { t.add(w, f, "") }

func (t *trace) lines() []string {
	var out []string
	for i := max(0, t.n-len(t.ring)); i < t.n; i++ {
		out = append(out, t.ring[i%len(t.ring)].String())
	}
	return out
}

// Note adds a line to the trace, and so to the digest: what a workload wants two
// runs of one seed to agree about.
func (w *World) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.mixString(text)
	w.trace.add(w, w.cur, text)
}
