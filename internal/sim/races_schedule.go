package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	plan "github.com/loomwork/loom/schedule"
	"github.com/loomwork/loom/store/fault"
)

// scheduleRaces are about occurrences of schedules.
func scheduleRaces() []Race {
	return []Race{
		{"services of two nodes that start one occurrence", twoServices},
		{"a service's node dies when it has started an occurrence", servedAndDied},
	}
}

// occurrences are n in a row, whose first is the id that the second value has.
func (c *Cluster) occurrences(n int) ([]plan.Occurrence, event.ExecutionID) {
	var all []plan.Occurrence
	at := c.World.StoreNow().Time().Truncate(time.Second)
	for i := range n {
		all = append(all, plan.Occurrence{Schedule: "nightly", At: at.Add(time.Duration(i) * time.Hour)})
	}
	id, err := all[0].ID()
	if err != nil {
		c.World.Fail("an occurrence without an id: %v", err)
	}
	return all, id
}

// Occur makes a service of m start an occurrence.
func (c *Cluster) Occur(m *Member, o plan.Occurrence, in Program) *Start {
	id, err := o.ID()
	if err != nil {
		c.World.Fail("an occurrence without an id: %v", err)
	}
	s := &Start{Execution: id, Node: m.Node.name, Number: len(c.Book.Starts) + 1, Chosen: true, Durable: -1}
	c.Book.Starts = append(c.Book.Starts, s)
	label := loom.Labels(map[string]string{startLabel: strconv.Itoa(s.Number)})
	m.starting++
	m.Do("occurrence", 0, func(ctx context.Context) {
		started, err := plan.Start(ctx, m.Runtime, o, m.Play, in, label)
		m.starting--
		s.Answered, s.Err, s.Pos = true, err, c.History.Pos()
		if s.Other = err == nil && !started; s.Other {
			// What the service is spared of: the oracles ask that it be true.
			s.Err = fmt.Errorf("not by this call: %w", &loom.ExecutionAlreadyExistsError{ID: id})
		}
		c.World.Note("occurrence %s on %s: %v, %v", id, m.Node.name, started, err)
	}, nil)
	return s
}

// twoServices has two nodes start the same two occurrences, their looks and starts at
// about the same time. Claims B-07 and B-40: each runs once and has one starter, the
// other is told nothing but that.
func twoServices(c *Cluster) {
	ms := c.open(2)
	for _, m := range ms {
		m.Link.Faults.Plan(first(func(call *fault.Call) bool { return call.Op == fault.Commit && starts(call.Request) },
			fault.Fault{Act: fault.Slow, Delay: c.some(2 * time.Millisecond)}))
	}
	all, _ := c.occurrences(2)
	p := flowOf(effect("pay", time.Millisecond))
	for _, o := range all {
		a, b := c.Occur(ms[0], o, p), c.Occur(ms[1], o, p)
		c.await("both answers", func() bool { return a.Answered && b.Answered })
		c.once(a.Execution, a, b)
	}
	c.World.outside.Sleep(4 * c.Config.Lease) // recovery looks, and finds nothing to do
	for _, o := range all {
		id, _ := o.ID()
		c.once(id)
	}
}

// once says that an occurrence ran, or will run, once: one of starts began it, and its
// effect was called once at most, on the node whose start it was.
func (c *Cluster) once(id event.ExecutionID, starts ...*Start) {
	calls, by := 0, ""
	for _, call := range c.Ledger.Calls {
		if call.Execution == id {
			calls, by = calls+1, call.Node
		}
	}
	c.must(calls <= 1, "%s paid %d times", id, calls)
	won := 0
	for _, s := range starts {
		c.must(s.Err == nil || s.Other, "the service on %s was told %v", s.Node, s.Err)
		if s.Err == nil {
			won++
			c.must(by == "" || by == s.Node, "%s was started on %s and paid on %s", id, s.Node, by)
		}
	}
	c.must(len(starts) == 0 || won == 1, "%s has %d starters", id, won)
	for _, e := range c.Ledger.Entries {
		for _, s := range starts {
			c.must(e.Execution != id || !s.Other || e.Node != s.Node, "%s was entered on %s, which had lost it", id, e.Node)
		}
	}
}

// servedAndDied kills the node of a service at some moment after its start landed, and
// has the occurrence started again elsewhere: it is there, and recovery drives it.
func servedAndDied(c *Cluster) {
	a := c.open(1)[0]
	all, id := c.occurrences(1)
	p := flowOf(effect("pay", c.Config.Lease), effect("book", time.Millisecond))
	c.Occur(a, all[0], p)
	c.await("the start to land", func() bool { return len(c.log(id)) > 0 })
	c.World.outside.Sleep(c.some(c.Config.Lease))
	a.Node.Crash()
	b := c.open(1)[0]
	s := c.Occur(b, all[0], p)
	c.await("the second answer", func() bool { return s.Answered })
	c.must(s.Other, "the second start was told %v", s.Err)
	c.await("the end", func() bool {
		h, ok, err := c.Backend.Index.Get(c.ctx(), id)
		return err == nil && ok && h.State.Terminal()
	})
}
