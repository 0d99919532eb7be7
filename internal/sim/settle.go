package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
)

// Settle ends all faults and runs the quiet phase: everything must come to its end,
// or to a wait for a message that nobody sent; then the messages are sent, until
// all have ended.
func (c *Cluster) Settle() {
	w := c.World
	c.hush()
	fresh := c.Join(false)
	if r := c.Config.Rates; r.Late > 0 || r.Slow > 0 {
		w.outside.Sleep(w.opts.MaxDelay * 5 / 4) // what is under way still comes
	}
	for round := 0; !w.Failed(); round++ {
		waiting, ok := c.rest()
		if !ok || len(waiting) == 0 {
			break
		}
		if round > 64 {
			w.Fail("bodies wait for more messages than they can")
			break
		}
		for _, x := range waiting {
			for i, name := range x.names {
				if round > 0 { // one that is in the log already, most likely
					c.Signal(fresh, x.id, name, fmt.Sprintf("quiet.%d.%d", round-1, i), 0)
				}
				c.Signal(fresh, x.id, name, fmt.Sprintf("quiet.%d.%d", round, i), 0)
			}
		}
	}
	for _, h := range c.heads() {
		if h.State.Terminal() {
			c.Result(fresh, h.Execution, 0)
		}
	}
	w.outside.Sleep(4 * c.Config.Lease)
}

// hush ends all faults.
func (c *Cluster) hush() {
	c.World.Note("quiet")
	c.quiet = true
	c.calm.nodes, c.calm.steps = c.joined, c.World.Steps()
	c.World.Calm()
	for _, m := range c.Members {
		n := m.Node
		n.plan, n.each = nil, nil
		m.Link.Faults.Quiet()
		n.mono.Freeze(false)
		n.wall.Freeze(false)
		n.mono.Drift(0)
		n.Resume()
	}
}

// resting is an execution that waits for messages alone.
type resting struct {
	id    event.ExecutionID
	names []string
}

// rest waits until every execution has ended or rests, and returns those that rest.
// ok is false if that took too long: the run has failed.
func (c *Cluster) rest() (waiting []resting, ok bool) {
	patience := 150 * c.Config.Lease
	for waited := time.Duration(0); ; waited += c.Config.Lease {
		c.World.outside.Sleep(c.Config.Lease)
		if c.World.Failed() {
			return nil, false
		}
		waiting = nil
		var busy []string
		strikes := 0
		for _, h := range c.heads() {
			if h.State.Terminal() || h.Strikes >= store.MaxStrikes {
				continue
			}
			strikes = max(strikes, h.Strikes)
			names, why := c.rests(h)
			if why != "" {
				if busy = append(busy, why); waited > patience {
					busy = append(busy, c.Describe(h.Execution))
				}
				continue
			}
			waiting = append(waiting, resting{h.Execution, names})
		}
		for _, m := range c.Members {
			if m.starting > 0 && !m.Node.dead { // it still asks what became of its start
				busy = append(busy, "a start is under way on "+m.Node.name)
			}
		}
		if busy == nil {
			return waiting, true
		}
		if waited > patience+2*time.Second<<strikes {
			c.World.Fail("O19: not at rest after %v of quiet:\n%s", waited, strings.Join(busy, "\n"))
			return nil, false
		}
	}
}

// rests returns what an execution waits for, or why it is not at rest: something is
// due or under way, or mail waits that somebody should look at.
func (c *Cluster) rests(h store.Head) (names []string, why string) {
	log := c.log(h.Execution)
	s, err := fold.Log(log)
	if err != nil {
		return nil, err.Error()
	}
	busy := func(format string, args ...any) ([]string, string) {
		text := fmt.Sprintf("%s: ", h.Execution) + fmt.Sprintf(format, args...)
		return nil, fmt.Sprintf("%s; owner %q, head %d, token %d, wakes %v, mail %d, seen %d, strikes %d, now %v; last %s %s",
			text, h.Owner, h.Tip.Head, h.Tip.Fence, h.WakeAt, h.Mail, h.Seen, h.Strikes, c.World.StoreNow(), log[len(log)-1].Kind, log[len(log)-1].Payload)
	}
	mail, _, err := c.Backend.Inbox.Pending(c.ctx(), h.Execution, 0, 1000)
	if err != nil {
		return busy("inbox: %v", err)
	}
	// A branch that lost gives way without an event of its own, so that the log shows
	// its waits as open. Once such an execution is parked for ever, only a message
	// helps it.
	// So does one that the body left behind when it came to its end.
	ending := slices.ContainsFunc(s.Ops, func(o fold.Op) bool { return event.Final(o.Path) })
	lost := (races(s.Input) || ending) && h.Owner == "" && h.WakeAt == event.Never
	parent := false
	for i := range s.Ops {
		o := &s.Ops[i]
		switch {
		case !o.Open():
			continue
		case o.Kind == fold.Child && o.Started:
			parent = true // the child is asked about by itself
			continue
		case lost && o.Kind == fold.Timer:
			continue
		case lost && o.Kind == fold.Await:
			names = append(names, o.Name)
			continue
		case o.Kind != fold.Await:
			return busy("%s %s is open", o.Kind, o.Path)
		case o.Due != 0:
			return busy("await %s gives up at %v", o.Path, o.Due)
		}
		for _, m := range mail {
			if m.Name == o.Name && !s.Consumed(m.ID) {
				return busy("%s waits, and message %s is there", o.Path, m.ID)
			}
		}
		names = append(names, o.Name)
	}
	for _, m := range mail {
		if strings.HasPrefix(m.Name, "loom.") {
			return busy("message %s of Loom's own is there", m.ID)
		}
	}
	switch {
	case names == nil && !parent:
		return busy("nothing is open")
	case s.Deadline != 0 && s.Cancel == nil:
		return busy("its deadline is %v", s.Deadline)
	}
	return names, ""
}

// races reports whether a program cancels branches.
func races(input []byte) bool {
	var p Program
	if err := json.Unmarshal(input, &p); err != nil {
		return false
	}
	var any func(steps []Step) bool
	any = func(steps []Step) bool {
		for _, s := range steps {
			if s.Kind == StepFirst || slices.ContainsFunc(s.Lines, any) {
				return true
			}
		}
		return false
	}
	return any(p.Steps)
}

// End closes what lives, lets what is late land, and reads everything once more, so
// that the history has it.
func (c *Cluster) End() {
	w := c.World
	for _, m := range c.Members {
		if m.Up() {
			m.Close()
		}
	}
	for i := 0; ; i++ {
		open := ""
		for _, m := range c.Members {
			if !m.Node.dead && !m.closed {
				open = m.Node.name
			}
		}
		if open == "" {
			break
		}
		if i > 200 {
			w.Fail("O19: the runtime of %s does not close", open)
			return
		}
		w.outside.Sleep(c.Config.Lease)
	}
	w.outside.Sleep(2*w.opts.MaxDelay + 2*c.Config.Grace + 50*c.Config.Lease)
	link := w.outside.Connect(c.Backend, c.History, noFaults, nil)
	for _, h := range c.heads() {
		for range link.Store.Log.Read(c.ctx(), h.Execution, store.Range{Strong: true}) {
		}
		link.Store.Log.Tip(c.ctx(), h.Execution)
	}
}
