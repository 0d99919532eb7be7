package sim

import (
	"context"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/fault"
)

// mailRaces are about messages and cancels.
func mailRaces() []Race {
	return []Race{
		{"race 5: a message is posted while its receiver parks", postedAtPark},
		{"race 6: a message is posted while its receiver ends", postedAtEnd},
		{"race 35: a cancel, and then a crash with an effect in the air", cancelledInTheAir},
		{"race 36: a message that was received is sent again", sentAgain},
	}
}

// send sends a message from m and waits until the store has it, or has refused it.
func (c *Cluster) send(m *Member, name, id string) *Signal {
	s := c.Signal(m, raced, name, id, 0)
	c.await("a signal's answer", func() bool { return s.Answered })
	return s
}

// postedAtPark sends at about the time of the park, from another node: whichever
// comes first, the message is received, and nobody has to send a second one.
func postedAtPark(c *Cluster) {
	ms := c.open(2)
	c.begin(ms[0], flowOf(mail("go")))
	ms[0].Link.Faults.Plan(first(commits(releases), fault.Fault{Act: fault.Slow, Delay: c.some(4 * time.Millisecond)}))
	c.World.outside.Sleep(c.Config.Unload + c.some(4*time.Millisecond))
	c.send(ms[1], "go", "m")
	c.await("the message to be received", func() bool { return c.has(event.KindMessageReceived) })
}

// postedAtEnd keeps the end on its way until a message has come in.
func postedAtEnd(c *Cluster) {
	ms := c.open(2)
	posted := false
	ms[0].Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if !posted && commits(ends)(call) {
			posted = true
			ms[1].Do("signal", 0, func(ctx context.Context) {
				s := &Signal{Execution: raced, Name: "go", ID: "m.go", Node: ms[1].Node.name}
				c.Book.Signals = append(c.Book.Signals, s)
				s.Err = ms[1].Runtime.Signal(ctx, string(raced), "go", "body")
				s.ID, s.Answered, s.Pos = "", true, c.History.Pos()
			}, nil)
			return fault.Fault{Act: fault.Slow, Delay: time.Millisecond}
		}
		return fault.Fault{Act: fault.Pass}
	})
	c.begin(ms[0], flowOf(effect("pay", time.Millisecond)))
	c.await("the end", func() bool { return c.head().State.Terminal() })
	h := c.head()
	c.must(h.Seen == h.Mail, "it ended over mail: %d of %d seen", h.Seen, h.Mail)
}

// cancelledInTheAir: whoever comes next does not call the step again, and its body
// learns that the outcome is unknown.
func cancelledInTheAir(c *Cluster) {
	ms := c.open(1)
	c.begin(ms[0], flowOf(deaf("charge", 4*c.Config.Lease), effect("refund", 0)))
	c.await("the call", func() bool { return c.calls() == 1 })
	c.Cancel(ms[0], raced, 0)
	c.await("the cancel to be recorded", func() bool { return c.has(event.KindCancelRequested) })
	ms[0].Node.Crash()
	c.open(1)
	c.await("the end", func() bool { return c.head().State.Terminal() })
	c.must(c.calls() == 1, "%d calls", c.calls())
	for _, e := range c.log(raced) {
		if p, _ := e.Decode(); e.Kind == event.KindEffectFailed {
			f := p.(event.EffectFailed)
			c.must(f.Error.Code == event.CodeOutcomeUnknown, "the step failed with %s", f.Error.Code)
			return
		}
	}
	c.World.Fail("the step has not settled\n%s", c.Describe(raced))
}

// sentAgain repeats a message after it was received, with the body waiting for the
// next of its name.
func sentAgain(c *Cluster) {
	ms := c.open(2)
	c.begin(ms[0], flowOf(mail("go"), effect("pay", time.Millisecond), mail("go")))
	c.send(ms[0], "go", "m")
	c.await("the message to be received", func() bool { return c.has(event.KindMessageReceived) })
	c.send(ms[1], "go", "m")
	c.World.outside.Sleep(4 * c.Config.Lease)
	n := 0
	for _, e := range c.log(raced) {
		if e.Kind == event.KindMessageReceived {
			n++
		}
	}
	c.must(n == 1 && !c.head().State.Terminal(), "it was received %d times", n)
}
