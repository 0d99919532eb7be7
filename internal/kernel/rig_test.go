package kernel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
)

// world makes the coroutines of all tests.
var world = rt.NewReal()

// A rig drives one machine and keeps its log. Its clock stands where the test
// puts it.
type rig struct {
	t   *testing.T
	m   *Machine
	now event.Time
	log []event.Envelope // what the machine was started with, replayed and has added
}

const (
	rigID   = event.ExecutionID("order-42")
	rigSeed = "00c0ffee00c0ffee"
)

var rigStart = event.ExecutionStarted{Flow: "f", Input: json.RawMessage("null"), Seed: rigSeed}

// newRig returns a machine of an empty log. It is unloaded when the test ends.
func newRig(t *testing.T, body func(*Branch) End, final ...func(End) func(*Branch) End) *rig {
	r := &rig{t: t, now: 1000}
	r.m = New(rigID, Config{Body: body, Coroutine: world.Coroutine, Stamp: func() event.Time { return r.now }})
	if final != nil {
		r.m.cfg.Final = final[0]
	}
	t.Cleanup(r.m.Unload)
	return r
}

// start adopts sequence 0 and runs the first turn.
func start(t *testing.T, body func(*Branch) End, final ...func(End) func(*Branch) End) *rig {
	t.Helper()
	r := newRig(t, body, final...)
	first := Bootstrap(rigID, r.now, rigStart, nil)
	r.log = append(r.log, first)
	if !r.m.Adopt(first, rigStart) {
		t.Fatal("sequence 0 was refused")
	}
	r.drain()
	return r
}

// replay drives a new machine over a log.
func replay(t *testing.T, log []event.Envelope, body func(*Branch) End, final ...func(End) func(*Branch) End) *rig {
	t.Helper()
	r := newRig(t, body, final...)
	r.now = log[len(log)-1].Time
	if err := replayLog(r.m, log); err != nil {
		t.Fatalf("replay: %v", err)
	}
	r.log = append(r.log, log...)
	r.drain()
	return r
}

// drain takes what the machine added and returns it.
func (r *rig) drain() []event.Envelope {
	for r.m.Continuing() {
		r.m.Continue()
	}
	es := r.m.TakeEvents()
	r.log = append(r.log, es...)
	return es
}

// op returns the open operation at a path.
func (r *rig) op(path string) *Op {
	r.t.Helper()
	o := r.m.ops[path]
	if o == nil {
		r.t.Fatalf("%s is not open; the log is\n%s", path, r.text())
	}
	return o
}

func (r *rig) complete(path, result string) {
	r.t.Helper()
	r.m.CompleteEffect(r.op(path), json.RawMessage(result))
	r.drain()
}

func (r *rig) fail(path, code string) {
	r.t.Helper()
	o := r.op(path)
	r.m.FailEffect(o, o.Attempts+1, &event.Failure{Code: code})
	r.drain()
}

func (r *rig) receive(path, id, body string) {
	r.t.Helper()
	r.m.Receive(r.op(path), id, json.RawMessage(body))
	r.drain()
}

// fire moves the clock to the next deadline and fires what is due there.
func (r *rig) fire() *Op {
	r.t.Helper()
	r.now = max(r.now, r.m.NextDue())
	o := r.m.TakeDue(r.now)
	if o == nil || o.Effect != nil {
		r.t.Fatalf("nothing to fire; the log is\n%s", r.text())
	}
	r.m.Fire(o)
	r.drain()
	return o
}

func (r *rig) cancel(id string) {
	r.m.Cancel(event.CancelRequested{Cause: CauseAsked, Message: id})
	r.drain()
}

// text is the log for people: one event a line, "seq what".
func (r *rig) text() string { return logText(r.log) }

func logText(log []event.Envelope) string {
	var b strings.Builder
	for _, e := range log {
		p, err := e.Decode()
		if err != nil {
			fmt.Fprintf(&b, "%d %v\n", e.Sequence, err)
			continue
		}
		fmt.Fprintf(&b, "%d %s\n", e.Sequence, describe(p))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// want compares the log's text with lines, in which blanks at the beginning do
// not count.
func (r *rig) want(text string) {
	r.t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if got := r.text(); got != strings.Join(lines, "\n") {
		r.t.Fatalf("the log is\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
	}
}

// verbs of a scripted body: each waits and returns how it ended.

func do(b *Branch, name string) *Op {
	o, d := b.Effect(name, &Effect{})
	if d != Allowed {
		return &Op{Ending: GaveWay}
	}
	b.Wait(o)
	return o
}

func timer(b *Branch, name string, us int) *Op {
	o, d := b.Timer(name, event.Time(us).Sub(0), 0)
	if d != Allowed {
		return &Op{Ending: GaveWay}
	}
	b.Wait(o)
	return o
}

// await waits for a message; within < 0 for ever.
func await(b *Branch, name string, within int) *Op {
	o, d := b.Await(name, event.Time(within).Sub(0))
	if d != Allowed {
		return &Op{Ending: GaveWay}
	}
	b.Wait(o)
	return o
}

// joinAll waits for all branches in turn.
func joinAll(b *Branch, all ...*Branch) {
	for _, o := range all {
		b.WaitAny(o)
	}
}

func branch(b *Branch, name string, fn func(*Branch)) *Branch {
	c, d := b.Go(name, fn)
	if d != Allowed {
		panic(fmt.Sprintf("branch %s was denied: %d", name, d))
	}
	return c
}

var done = End{Result: json.RawMessage(`"done"`)}

// replayLog decodes a log and replays it.
func replayLog(m *Machine, log []event.Envelope) error {
	rec, err := Decode(log)
	if err != nil {
		return err
	}
	return m.Replay(rec)
}
