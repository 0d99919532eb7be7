package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// startLabel is the label that holds a start's number.
const startLabel = "start"

// chosen returns one of the few ids that clients choose.
func (c *Cluster) chosen() event.ExecutionID {
	return event.ExecutionID(fmt.Sprint("x", c.World.Decide("id", c.Config.Executions)))
}

// known returns an id that a client may talk about.
func (c *Cluster) known() event.ExecutionID {
	var minted []event.ExecutionID
	for _, s := range c.Book.Starts {
		if !s.Chosen && s.Execution != "" {
			minted = append(minted, s.Execution)
		}
	}
	if len(minted) > 0 && c.World.Chance("of the minted", 400) {
		return minted[c.World.Decide("minted", len(minted))]
	}
	return c.chosen()
}

// limit draws how long a client waits for its answer.
func (c *Cluster) limit() time.Duration {
	if c.World.Chance("patient", 500) {
		return 40 * c.Config.Lease
	}
	return c.some(4 * c.Config.Lease)
}

// actStart starts a chosen id, at times on several nodes at once.
func (c *Cluster) actStart() {
	id := c.chosen()
	in := c.programOf(id)
	for range 1 + c.World.Decide("starters", 3) {
		if m := c.any(); m != nil {
			c.Start(m, id, in, c.limit(), c.options()...)
		}
	}
}

// programOf returns the input for an id: at times another one than before.
func (c *Cluster) programOf(id event.ExecutionID) Program {
	if c.programs == nil {
		c.programs = map[event.ExecutionID]Program{}
	}
	p, ok := c.programs[id]
	if !ok {
		p = c.writer.program()
		c.programs[id] = p
	}
	if c.World.Chance("other input", 100) {
		p.Salt = c.World.Decide("salt", 1000)
	}
	return p
}

func (c *Cluster) actMint() {
	if m := c.any(); m != nil && c.mints < 2*c.Config.Executions {
		c.mints++
		c.Start(m, "", c.writer.program(), c.limit(), c.options()...)
	}
}

// options draws what a start asks for besides.
func (c *Cluster) options() (opts []loom.StartOption) {
	if c.World.Chance("deadline", 100) {
		at := c.World.StoreNow().Time().Add(c.some(8 * c.Config.Unload))
		opts = append(opts, loom.Deadline(at))
	}
	if c.World.Chance("delay", 100) {
		opts = append(opts, loom.Delay(c.some(3*c.Config.Unload)))
	}
	return opts
}

// Start makes a client of m start a program, under a minted id if id is "".
func (c *Cluster) Start(m *Member, id event.ExecutionID, in Program, limit time.Duration, more ...loom.StartOption) *Start {
	w := c.World
	s := &Start{Execution: id, Node: m.Node.name, Number: len(c.Book.Starts) + 1, Chosen: id != "", Durable: -1}
	c.Book.Starts = append(c.Book.Starts, s)
	opts := append(more, loom.Labels(map[string]string{startLabel: strconv.Itoa(s.Number)}))
	if s.Chosen {
		opts = append(opts, loom.ID(string(id)))
	}
	wait := w.Chance("durable", 400)
	m.starting++
	m.Do("start", limit, func(ctx context.Context) {
		run, err := m.Play.Start(ctx, m.Runtime, in, opts...)
		m.starting--
		s.Answered, s.Err, s.Pos = true, err, c.History.Pos()
		w.Note("start %d of %q on %s: %v", s.Number, id, m.Node.name, err)
		if err != nil {
			return
		}
		if s.Execution = event.ExecutionID(run.ID()); !s.Chosen {
			c.minted[s.Execution] = true
		}
		if wait && run.Durable(ctx) == nil {
			s.Durable = c.History.Pos()
		}
	}, nil)
	return s
}

// actSignal sends a message, at times one that was sent before.
func (c *Cluster) actSignal() {
	m := c.any()
	if m == nil {
		return
	}
	id, name := c.known(), messageNames[c.World.Decide("message", len(messageNames))]
	c.Signal(m, id, name, fmt.Sprint("m", c.World.Decide("message id", 4)), c.limit())
}

// Signal makes a client of m send a message.
func (c *Cluster) Signal(m *Member, id event.ExecutionID, name, message string, limit time.Duration) *Signal {
	s := &Signal{Execution: id, Name: name, ID: message + "." + name, Node: m.Node.name}
	c.Book.Signals = append(c.Book.Signals, s)
	m.Do("signal", limit, func(ctx context.Context) {
		err := m.Runtime.Signal(ctx, string(id), name, "body of "+s.ID, loom.MessageID(s.ID))
		s.Answered, s.Err, s.Pos = true, err, c.History.Pos()
		c.World.Note("signal %s to %s on %s: %v", s.ID, id, m.Node.name, err)
	}, nil)
	return s
}

func (c *Cluster) actCancel() {
	if m := c.any(); m != nil {
		c.Cancel(m, c.known(), c.limit())
	}
}

// Cancel makes a client of m cancel an execution.
func (c *Cluster) Cancel(m *Member, id event.ExecutionID, limit time.Duration) *Signal {
	s := &Signal{Execution: id, Node: m.Node.name}
	c.Book.Signals = append(c.Book.Signals, s)
	m.Do("cancel", limit, func(ctx context.Context) {
		err := m.Runtime.Cancel(ctx, string(id), "for a reason")
		s.Answered, s.Err, s.Pos = true, err, c.History.Pos()
		c.World.Note("cancel of %s on %s: %v", id, m.Node.name, err)
	}, nil)
	return s
}

func (c *Cluster) actResult() {
	if m := c.any(); m != nil {
		c.Result(m, c.known(), c.limit())
	}
}

// Result makes a client of m wait for a result, and ask again where it is told to.
func (c *Cluster) Result(m *Member, id event.ExecutionID, limit time.Duration) {
	m.Do("result", limit, func(ctx context.Context) {
		run, err := loom.Attach[string](m.Runtime, string(id))
		if err != nil {
			c.World.Fail("attaching to %s: %v", id, err)
			return
		}
		for {
			v, err := run.Result(ctx)
			var failed *loom.ExecutionError
			if err == nil || errors.As(err, &failed) {
				c.Book.Results = append(c.Book.Results, &Result{id, m.Node.name, v, err, c.History.Pos()})
				c.World.Note("result of %s on %s: %q, %v", id, m.Node.name, v, err)
				return
			}
			if ctx.Err() != nil || errors.Is(err, loom.ErrClosed) {
				return
			}
			if m.Node.SleepContext(ctx, c.Config.Lease/2) != nil {
				return
			}
		}
	}, nil)
}

func (c *Cluster) actFollow() {
	if m := c.any(); m != nil {
		c.Follow(m, c.known(), c.limit())
	}
}

// Follow makes a client of m read an execution's log as it grows. Each event must be
// durable by then, and come once and in order, whatever fails meanwhile (claim B-44).
func (c *Cluster) Follow(m *Member, id event.ExecutionID, limit time.Duration) {
	m.Do("follow", limit, func(ctx context.Context) {
		next := int64(0)
		for e, err := range m.Runtime.Follow(ctx, string(id), 0) {
			if err != nil {
				return
			}
			log := c.log(id)
			if int64(e.Sequence) != next || next >= int64(len(log)) || !e.Equal(log[next]) {
				c.World.Fail("O1: follower on %s got %s where event %d is due, of %d", m.Node.name, e.ID(), next, len(log))
				return
			}
			next++
		}
	}, nil)
}
