package kernel

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/loomwork/loom/event"
)

// A program is a random body: what its branches do, in order. It is made from a
// seed once and can be run any number of times.
type program struct {
	steps []step
	quits bool     // leaves once it was cancelled
	fails bool     // returns a failure
	again int      // how many generations follow the first
	final *program // what it leaves to do at its end
}

type step struct {
	what  string
	name  string
	value int
	sub   *program
}

// stepKinds are what a step may be; those that stand more than once are more
// likely.
var stepKinds = []string{"do", "do", "do", "read", "pair", "timer", "until", "await", "await", "within", "go", "go", "go",
	"any", "all", "cancel", "name", "now", "version", "set", "answer", "answer", "child", "spawn", "else", "recover", "panic", "exit"}

func newProgram(rng *rand.Rand, depth int) *program {
	p := &program{quits: rng.IntN(2) == 0, fails: rng.IntN(5) == 0}
	for range 3 - depth + rng.IntN(8-2*depth) {
		s := step{what: stepKinds[rng.IntN(len(stepKinds))], name: string(rune('a' + rng.IntN(3))), value: rng.IntN(2000)}
		switch s.what {
		case "panic", "exit":
			if rng.IntN(6) > 0 {
				s.what = "do"
			}
		case "go", "else":
			if depth == 2 {
				s.what = "do"
				break
			}
			s.sub = newProgram(rng, depth+1)
		}
		p.steps = append(p.steps, s)
	}
	if depth == 0 && rng.IntN(3) == 0 {
		p.final = newProgram(rng, 1)
	}
	if depth == 0 && rng.IntN(3) == 0 {
		p.again = 2
	}
	return p
}

// finally returns the function of the final branch. It says how the body ended, and
// what it saw itself.
func (p *program) finally(end End) func(*Branch) End {
	if p.final == nil {
		return nil
	}
	return func(b *Branch) End {
		saw := []string{string(end.Result)}
		if end.Failure != nil {
			saw = append(saw, end.Failure.Code)
		}
		(&runner{saw: &saw}).run(b, p.final)
		if end.Again != nil {
			return end
		}
		if p.final.fails {
			return End{Failure: &event.Failure{Code: "failed", Message: fmt.Sprint(saw)}}
		}
		if end.Failure != nil {
			return end
		}
		raw, _ := json.Marshal(saw)
		return End{Result: raw}
	}
}

// body returns the function of the main branch. Its result is all that its
// branches saw, so that two runs that end alike saw alike. Not inlined, because
// the function's name is in the stacks of its panics.
//
//go:noinline
func (p *program) body() func(*Branch) End {
	return func(b *Branch) End {
		var saw []string
		x := &runner{saw: &saw}
		x.run(b, p)
		if b.m.state.Generation <= p.again && !b.Cancelled() {
			return End{Again: json.RawMessage(fmt.Sprint(len(saw)))}
		}
		if b.Cancelled() && p.quits {
			return End{Failure: &event.Failure{Code: event.CodeCancelled}, GaveWay: true}
		}
		if p.fails {
			return End{Failure: &event.Failure{Code: "failed", Message: fmt.Sprint(saw)}}
		}
		raw, _ := json.Marshal(saw)
		return End{Result: raw}
	}
}

// runner runs a program in one branch.
type runner struct {
	saw      *[]string
	children []*Branch
	spawned  []*Op
	last     int // of what an operation gave, to decide by
}

func (x *runner) note(b *Branch, format string, args ...any) {
	*x.saw = append(*x.saw, b.Path()+": "+fmt.Sprintf(format, args...))
}

func (x *runner) wait(b *Branch, o *Op, d Denial) {
	if d != Allowed {
		x.note(b, "denied %d", d)
		return
	}
	b.Wait(o)
	x.last = int(o.Ending) + len(o.Result)
	x.note(b, "%s %d %s %v", o.Path, o.Ending, o.Result, o.Failure)
}

func (x *runner) run(b *Branch, p *program) {
	for _, s := range p.steps {
		if p.quits && b.Cancelled() {
			x.note(b, "quits")
			return
		}
		x.step(b, s)
	}
}

func (x *runner) step(b *Branch, s step) {
	d := time.Duration(s.value) * time.Microsecond
	switch s.what {
	case "do":
		o, denied := b.Effect(s.name, &Effect{Args: json.RawMessage(fmt.Sprint(s.value))})
		x.wait(b, o, denied)
	case "read":
		o, denied := b.Effect(s.name, &Effect{ReadOnly: true})
		x.wait(b, o, denied)
	case "pair": // two at once, waited for the other way round
		o1, d1 := b.Effect(s.name, &Effect{})
		o2, d2 := b.Timer(s.name, d, 0)
		x.wait(b, o2, d2)
		x.wait(b, o1, d1)
	case "timer":
		o, denied := b.Timer(s.name, d, 0)
		x.wait(b, o, denied)
	case "until":
		o, denied := b.Timer(s.name, -1, event.Time(s.value*3))
		x.wait(b, o, denied)
	case "await":
		o, denied := b.Await(s.name, -1)
		x.wait(b, o, denied)
	case "answer":
		o, denied := b.Await(s.name, -1)
		x.wait(b, o, denied)
		if denied == Allowed && o.Ending == Received {
			switch {
			case s.value%3 > 0:
				b.Answer(o.Message, o.Result, nil)
			case b.Cancelled(): // and still it answers
				b.Answer(o.Message, nil, &event.Failure{Code: event.CodeCancelled})
			default:
				x.run(b, &program{steps: []step{{what: "do", name: s.name}}})
				b.Answer(o.Message, nil, &event.Failure{Code: "no", Message: s.name})
			}
		}
	case "within":
		o, denied := b.Await(s.name, d)
		x.wait(b, o, denied)
	case "go":
		c, denied := b.Go(s.name, func(c *Branch) { (&runner{saw: x.saw}).run(c, s.sub) })
		if denied == Allowed {
			x.children = append(x.children, c)
		}
	case "any":
		if len(x.children) > 0 {
			first, _ := b.WaitAny(x.children...)
			x.note(b, "first %s %v %v", first.Path(), first.Panic != nil, first.Exited)
		}
	case "all":
		joinAll(b, x.children...)
	case "cancel":
		if n := len(x.children); n > 0 {
			b.Cancel(x.children[s.value%n])
		}
	case "else":
		if x.last%2 == 1 { // the body goes by what it was given
			x.run(b, s.sub)
		}
	case "recover":
		func() {
			defer func() { x.note(b, "recovered %v", recover()) }()
			panic(s.value)
		}()
	default:
		x.odd(b, s)
	}
}

func (x *runner) odd(b *Branch, s step) {
	switch s.what {
	case "name":
		path, denied := b.Name(s.name)
		x.note(b, "name %s %d %x", path, denied, Entropy(b.Execution(), b.Seed(), path))
	case "child", "spawn":
		o, denied := b.Child(s.name, "", "f", []string{"", event.OnCancelAbandon, event.OnCancelWait}[s.value%3], &Effect{})
		if denied != Allowed {
			x.note(b, "denied %d", denied)
			break
		}
		b.WaitStarted(o)
		x.note(b, "%s started %v", o.Child, o.Started)
		if x.spawned = append(x.spawned, o); s.what == "child" {
			x.wait(b, x.spawned[s.value%len(x.spawned)], b.WaitOther(x.spawned[s.value%len(x.spawned)]))
		}
	case "version":
		v, denied := b.Version(s.name, 0, 1+int(s.name[0])%3)
		x.note(b, "version %d %d", v, denied)
		x.last += v
	case "set":
		value := json.RawMessage([]string{"null", fmt.Sprint(s.value), `"text"`}[s.value%3])
		full, denied := b.Publish(s.name, value, most)
		x.note(b, "set %v %d", full, denied)
	case "now":
		x.note(b, "now %d", b.Now())
	case "panic":
		panic("as asked")
	case "exit":
		runtime.Goexit()
	}
}

// fate is what came to a machine from outside, at random.
type fate struct {
	rng  *rand.Rand
	sent int
}

// next does one thing to the machine: settles or fails an effect, fires a timer,
// sends a message or cancels. It reports whether there was anything to do.
func (f *fate) next(r *rig) bool {
	m := r.m
	var can []func()
	fail := &event.Failure{Code: "c", Message: fmt.Sprint(f.rng.IntN(9))}
	for o := m.opens.first; o != nil; o = o.next {
		switch {
		case o.Child != "":
			if !o.Started {
				can = append(can, func() { m.StartedChild(o) })
				can = append(can, func() { m.SettleChild(o, event.ChildSettled{Status: event.ChildRefused, Error: fail}) })
				break
			}
			f.sent++
			id := fmt.Sprintf("m-%d", f.sent)
			can = append(can, func() {
				m.SettleChild(o, event.ChildSettled{Message: id, Status: "completed", Result: json.RawMessage(fmt.Sprint(f.rng.IntN(100)))})
			})
			can = append(can, func() { m.SettleChild(o, event.ChildSettled{Message: id, Status: "failed", Error: fail}) })
		case o.Effect != nil:
			can = append(can, func() { m.CompleteEffect(o, json.RawMessage(fmt.Sprint(f.rng.IntN(100)))) })
			can = append(can, func() { m.FailEffect(o, o.Attempts+1, fail) })
			if !o.Cancelled {
				can = append(can, func() { m.FailAttempt(o, fail, r.now+500) })
			}
			if !o.Effect.ReadOnly {
				can = append(can, func() { m.Progress(o, json.RawMessage(fmt.Sprint(f.rng.IntN(100)))) })
			}
		case o.Name != "":
			can = append(can, func() {
				f.sent++
				m.Receive(m.Awaiting(o.Name), fmt.Sprintf("m-%d", f.sent), json.RawMessage(fmt.Sprint(f.rng.IntN(100))))
			})
			if o.Due == 0 {
				break
			}
			fallthrough
		default:
			can = append(can, func() { r.now = max(r.now, o.Due); m.Fire(o) })
		}
	}
	if f.rng.IntN(15) == 0 {
		f.sent++
		can = []func(){func() { r.cancel(fmt.Sprintf("m-%d", f.sent)) }}
	}
	if f.rng.IntN(60) == 0 {
		can = []func(){func() { m.Pause(event.ExecutionPaused{By: "ann"}) }}
	}
	if m.State().Paused != nil { // nothing else happens then
		can = []func(){func() { m.add(event.ExecutionResumed{By: "ann"}, m.cfg.Stamp()) }} // an operator's
	}
	if f.rng.IntN(60) == 0 {
		f.sent++
		can = []func(){func() { m.Terminate(event.ExecutionTerminated{Message: fmt.Sprintf("m-%d", f.sent)}) }}
	}
	if len(can) == 0 {
		return false
	}
	r.now += event.Time(f.rng.IntN(400))
	can[f.rng.IntN(len(can))]()
	r.drain()
	return true
}
