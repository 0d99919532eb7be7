package kernel

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loomwork/loom/event"
)

// TestWaitAnyTakesTheFirstInLogOrder: of branches that have ended it returns the
// one that did so first, whatever the order of the arguments.
func TestWaitAnyTakesTheFirstInLogOrder(t *testing.T) {
	var order []string
	r := start(t, func(b *Branch) End {
		var all []*Branch
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, branch(b, name, func(c *Branch) { do(c, "x") }))
		}
		do(b, "gate") // b and c end while the body waits here
		for len(all) > 0 {
			first, _ := b.WaitAny(all...)
			order = append(order, first.Path())
			all = slices.DeleteFunc(all, func(o *Branch) bool { return o == first })
		}
		return done
	})
	r.complete("c#1/x#1", "1")
	r.complete("b#1/x#1", "1")
	r.complete("gate#1", "1")
	if want := []string{"c#1", "b#1"}; !slices.Equal(order, want) {
		t.Fatalf("got %q, want %q", order, want)
	}
	r.complete("a#1/x#1", "1")
	if want := []string{"c#1", "b#1", "a#1"}; !slices.Equal(order, want) || !r.m.Ended() {
		t.Errorf("got %q, want %q; ended %v", order, want, r.m.Ended())
	}
}

// TestCancelOfABranchReachesItsOwn: waits of the branch and of those below it
// give way, effects are asked to, and nobody else notices.
func TestCancelOfABranchReachesItsOwn(t *testing.T) {
	ends := map[string]Ending{}
	r := start(t, func(b *Branch) End {
		parent := branch(b, "p", func(p *Branch) {
			branch(p, "c", func(c *Branch) {
				ends["c timer"] = timer(c, "t", 1000).Ending
				ends["c again"] = timer(c, "t", 1000).Ending
				g := branch(c, "late", func(l *Branch) { ends["late"] = await(l, "m", -1).Ending })
				c.WaitAny(g)
			})
			ends["p effect"] = do(p, "x").Ending
		})
		other := branch(b, "o", func(o *Branch) { ends["o"] = await(o, "m", 5000).Ending })
		ends["gate"] = do(b, "gate").Ending
		b.Cancel(parent)
		b.Cancel(parent) // again changes nothing
		if parent.cancelled != true || other.cancelled || b.Cancelled() {
			t.Error("the wrong branches are cancelled")
		}
		joinAll(b, parent, other)
		return done
	})
	effect := r.op("p#1/x#1")
	r.m.TakeCalls()
	r.complete("gate#1", "1")
	if got := r.m.TakeCancels(); len(got) != 1 || got[0] != effect || !effect.Cancelled || effect.Ending != Open {
		t.Fatalf("to give way are %v, ending %d", got, effect.Ending)
	}
	if ends["c timer"] != GaveWay || ends["c again"] != GaveWay || ends["late"] != GaveWay {
		t.Errorf("the branch below ended with %v", ends)
	}
	r.complete("p#1/x#1", `"paid"`) // the truth arrives all the same
	if ends["p effect"] != Completed {
		t.Errorf("the effect ended with %d", ends["p effect"])
	}
	r.receive("o#1/m#1", "m-1", "1")
	if ends["o"] != Received || !r.m.Ended() {
		t.Errorf("the other branch ended with %d; ended %v", ends["o"], r.m.Ended())
	}
}

// TestCancelReachesBranchesThatOutlivedTheirs: cancelling a branch that has
// ended asks those that it began and that go on.
func TestCancelReachesBranchesThatOutlivedTheirs(t *testing.T) {
	ended := Open
	r := start(t, func(b *Branch) End {
		parent := branch(b, "p", func(p *Branch) {
			branch(p, "c", func(c *Branch) { ended = await(c, "m", -1).Ending })
		})
		b.WaitAny(parent)
		b.Cancel(parent)
		do(b, "x")
		return done
	})
	if ended != GaveWay {
		t.Errorf("the branch below ended with %d", ended)
	}
	r.complete("x#1", "1")
}

// TestABodyThatReturnsCancelsItsBranches and ends once they have: timers and
// awaits at once, an effect when it settles.
func TestABodyThatReturnsCancelsItsBranches(t *testing.T) {
	var trace []string
	r := start(t, func(b *Branch) End {
		branch(b, "t", func(c *Branch) { trace = append(trace, fmt.Sprint("t ", timer(c, "x", 9000).Ending)) })
		branch(b, "m", func(c *Branch) {
			trace = append(trace, fmt.Sprint("m ", await(c, "x", -1).Ending))
			_, d := c.Effect("more", &Effect{})
			trace = append(trace, fmt.Sprint("more denied ", d))
		})
		branch(b, "e", func(c *Branch) { trace = append(trace, fmt.Sprint("e ", do(c, "x").Ending)) })
		do(b, "gate")
		return done
	})
	r.complete("gate#1", "1")
	if want := []string{fmt.Sprint("t ", GaveWay), fmt.Sprint("m ", GaveWay), fmt.Sprint("more denied ", NoCancelled)}; !slices.Equal(trace, want) {
		t.Fatalf("after the return: %q, want %q", trace, want)
	}
	if r.m.Ended() {
		t.Fatal("ended while an effect is open")
	}
	if got := r.m.TakeCancels(); len(got) != 1 || got[0].Path != "e#1/x#1" {
		t.Errorf("to give way are %v", got)
	}
	r.fail("e#1/x#1", event.CodeCancelled)
	r.want(`0 EXECUTION_STARTED
		1 EFFECT_SCHEDULED gate#1
		2 TIMER_SCHEDULED t#1/x#1
		3 MESSAGE_AWAITED m#1/x#1 of x
		4 EFFECT_SCHEDULED e#1/x#1
		5 EFFECT_COMPLETED gate#1
		6 EFFECT_FAILED e#1/x#1
		7 EXECUTION_COMPLETED`)
}

// TestABranchThatWasNeverNeeded: one that is made and left in the same turn
// begins, gives way and leaves nothing but what it asked for.
func TestABranchThatWasNeverNeeded(t *testing.T) {
	r := start(t, func(b *Branch) End {
		branch(b, "c", func(c *Branch) { timer(c, "x", 10); do(c, "y") })
		return done
	})
	r.want("0 EXECUTION_STARTED\n1 TIMER_SCHEDULED c#1/x#1\n2 EXECUTION_COMPLETED")
	replay(t, r.log, func(b *Branch) End {
		branch(b, "c", func(c *Branch) { timer(c, "x", 10); do(c, "y") })
		return done
	})
}

type loud struct{}

func (loud) Error() string { panic("again") }

// TestPanics in the body end the execution with the panic's text and stack; one
// in a branch is the branch's.
func TestPanics(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		text  string
	}{
		"a text":           {"boom", "boom"},
		"an error":         {fmt.Errorf("boom %d", 7), "boom 7"},
		"nil":              {nil, "panic called with nil argument"},
		"an error that is": {loud{}, "PANIC=Error method: again"},
		"no text":          {"a\xffb", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(b *Branch) End { do(b, "a"); panic(tc.value) })
			r.complete("a#1", "1")
			f := r.m.State().Failure
			if f == nil || f.Code != event.CodePanic || !strings.Contains(f.Message, tc.text) {
				t.Fatalf("failed with %+v", f)
			}
			if len(f.Stack) == 0 || len(f.Stack) > 32 || strings.Contains(strings.Join(f.Stack, " "), "/work"+"/") {
				t.Errorf("the stack is %q", f.Stack)
			}
			if !strings.Contains(f.Stack[0]+f.Stack[min(1, len(f.Stack)-1)], "TestPanics") {
				t.Errorf("the stack begins elsewhere: %q", f.Stack)
			}
			if last := f.Stack[len(f.Stack)-1]; !strings.Contains(last, "kernel.(*Machine).body:") {
				t.Errorf("the stack goes below the body: %q", f.Stack)
			}
		})
	}
	t.Run("a long text", func(t *testing.T) {
		r := start(t, func(*Branch) End { panic("x" + strings.Repeat("é", event.MaxMessageBytes)) })
		m := r.m.State().Failure.Message
		if len(m) > event.MaxMessageBytes || len(m) < event.MaxMessageBytes-1 || !utf8.ValidString(m) {
			t.Errorf("recorded %d bytes", len(m))
		}
	})
	t.Run("in a branch", func(t *testing.T) {
		r := start(t, func(b *Branch) End {
			c := branch(b, "c", func(c *Branch) { panic("boom") })
			b.WaitAny(c)
			if c.Panic == nil || c.Panic.Value != "boom" || c.Exited {
				t.Errorf("the branch ended with %+v, exited %v", c.Panic, c.Exited)
			}
			return done
		})
		r.want("0 EXECUTION_STARTED\n1 EXECUTION_COMPLETED")
	})
}

// TestGoexit in the body is a failure of its own, in a branch the branch's; the
// machine goes on.
func TestGoexit(t *testing.T) {
	r := start(t, func(b *Branch) End {
		c := branch(b, "c", func(c *Branch) { timer(c, "x", 5); runtime.Goexit() })
		b.WaitAny(c)
		if c.Panic != nil || !c.Exited {
			t.Errorf("the branch ended with %+v, exited %v", c.Panic, c.Exited)
		}
		defer do(b, "last") // a verb in a deferred function is a verb
		runtime.Goexit()
		return done
	})
	r.fire()
	r.complete("last#1", "1")
	if f := r.m.State().Failure; f == nil || f.Code != event.CodeExited {
		t.Errorf("failed with %+v", f)
	}
}

// TestRecoveredPanics are the body's own business.
func TestRecoveredPanics(t *testing.T) {
	r := start(t, func(b *Branch) End {
		func() {
			defer func() { recover() }()
			do(b, "a")
			panic("boom")
		}()
		do(b, "b")
		return done
	})
	r.complete("a#1", "1")
	r.complete("b#1", "1")
	if r.m.State().Status != "completed" {
		t.Errorf("status %s", r.m.State().Status)
	}
}

// TestUnloadUnwinds: deferred functions run, innermost first; recover sees nil;
// verbs in them do nothing; branches that never began never do.
func TestUnloadUnwinds(t *testing.T) {
	var trace []string
	note := func(format string, args ...any) { trace = append(trace, fmt.Sprintf(format, args...)) }
	var body *Branch
	r := start(t, func(b *Branch) End {
		body = b
		defer func() { note("body recovers %v", recover()) }()
		c := branch(b, "c", func(c *Branch) {
			defer func() {
				_, d := c.Effect("undo", &Effect{})
				note("effect %d", d)
				_, d = c.Timer("undo", time.Second, 0)
				note("timer %d", d)
				_, d = c.Await("undo", -1)
				note("await %d", d)
				_, d = c.Go("undo", func(*Branch) { note("never") })
				note("go %d", d)
				_, d = c.WaitAny(b)
				note("wait %d", d)
				note("cancel %d", c.Cancel(b))
				_, d = c.Name("undo")
				note("name %d", d)
				panic("in a deferred function")
			}()
			timer(c, "x", 100)
			note("never")
		})
		b.WaitAny(c)
		note("never")
		return done
	})
	before := r.text()
	r.m.Unload()
	r.drain()
	if r.text() != before || r.m.Ended() {
		t.Errorf("unloading wrote\n%s", r.text())
	}
	want := []string{"body recovers <nil>"}
	for _, verb := range []string{"effect", "timer", "await", "go", "wait", "cancel", "name"} {
		want = append(want, fmt.Sprintf("%s %d", verb, NoUnloading))
	}
	if !slices.Equal(trace, want) {
		t.Errorf("got %q, want %q", trace, want)
	}
	if !body.Done() || len(r.m.branches) != 0 {
		t.Errorf("branches are left: %d", len(r.m.branches))
	}
	r.m.Unload() // again does nothing
}

// TestUnloadOfAMachineThatNeverRan and of one that has ended.
func TestUnloadOfAMachineThatNeverRan(t *testing.T) {
	r := newRig(t, func(*Branch) End { t.Error("ran"); return done })
	r.m.Unload()
	e := start(t, func(*Branch) End { return done })
	e.m.Unload()
	if !e.m.Ended() {
		t.Error("not ended")
	}
}
