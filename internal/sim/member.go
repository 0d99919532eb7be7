package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
)

// Member is a node of a [Cluster] with a runtime.
type Member struct {
	Node *Node
	Link Link
	// Runtime is nil until it is open.
	Runtime *loom.Runtime
	Play    *loom.Flow[Program, string]

	c      *Cluster
	client bool // it drives nothing
	old    bool // its build fits no log
	bare   bool // its build does not know the flow
	// diverged are the executions that it could not go on with.
	diverged []event.ExecutionID
	// distrusted says that the node's monotonic clock stood still for a while: it
	// cannot know what it lost meanwhile.
	distrusted bool
	closing    bool
	closedFrom int // place in the history at which it began to close
	closed     bool
	giveUp     func() // ends the wait of the last client with a limit
	starting   int    // clients that wait for the answer to a start
	told       []Told
}

// Told is one call of a hook.
type Told struct {
	What      string // "event", "durable", "aborted"
	Execution event.ExecutionID
	Sequence  event.Seq
	Pos       int
}

// Join adds a node to the cluster and opens a runtime on it, which takes a while.
func (c *Cluster) Join(client bool) *Member { return c.join(client, false) }

// join is Join; an old build diverges on every log.
func (c *Cluster) join(client, old bool) *Member {
	c.joined++
	m := &Member{c: c, client: client, old: old, Node: c.World.Node(fmt.Sprint("n", c.joined))}
	m.Link = m.Node.Connect(c.Backend, c.History, c.Config.Rates, nil)
	if c.Config.Gather != nil {
		m.Link = m.Link.gather(c.Config.Gather)
	}
	if c.Config.Clocks && !c.quiet {
		m.Node.wall.Jump(time.Duration(c.World.Decide("wall clock", 5)-2) * time.Hour)
	}
	if c.quiet {
		m.Link.Faults.Quiet()
	}
	body := m.body
	if old {
		body = m.oldBody
	}
	m.Play = loom.NewFlow("play", body)
	c.Members = append(c.Members, m)
	m.Node.Go("open", m.open)
	return m
}

// open opens the runtime, again while the store fails.
func (m *Member) open() {
	cfg := &m.c.Config
	for {
		tune := loom.Tuning{Lease: cfg.Lease, Unload: cfg.Unload, Scan: cfg.Scan, CancelGrace: cfg.Grace, CloseGrace: cfg.Grace, ClientOnly: m.client}
		opts := []loom.Option{tune, m.hooks()}
		if !m.bare {
			opts = append(opts, loom.Flows(m.Play))
		}
		r, err := loom.Open(rt.With(context.Background(), m.Node), store.Opened(m.Link.Store), opts...)
		if err == nil {
			m.Runtime = r
			m.c.World.Note("%s is open", m.Node.name)
			return
		}
		m.Node.Sleep(cfg.Lease / 4)
	}
}

// hooks notes what the runtime tells. A cluster has one build and one set of flows,
// so that nothing may diverge and no log may be unreadable.
func (m *Member) hooks() loom.Hooks {
	h := loom.Hooks{OnWarn: func(id event.ExecutionID, err error) {
		var stuck *loom.StuckError
		var diverged *loom.DivergedError
		var left *loom.LeftoverError
		switch {
		case errors.As(err, &left):
			return // clients send more than bodies ask for
		case errors.As(err, &stuck):
			return // the node was paused while a body had control
		case m.old && errors.As(err, &diverged):
			m.diverged = append(m.diverged, id)
			return
		}
		m.c.World.Fail("%s warns of %s: %v\n%s", m.Node.name, id, err, m.c.Describe(id))
	}}
	if !m.c.Config.Hooks {
		return h
	}
	note := func(what string, id event.ExecutionID, seq event.Seq) {
		m.told = append(m.told, Told{what, id, seq, m.c.History.Pos()})
		if d := m.c.Config.HookTakes; d > 0 && !m.c.quiet {
			m.Node.Sleep(d)
		}
	}
	h.OnEvent = func(e event.Envelope) { note("event", e.Execution, e.Sequence) }
	h.OnDurable = func(e event.Envelope) { note("durable", e.Execution, e.Sequence) }
	h.OnAborted = func(id event.ExecutionID, from event.Seq, _ error) { note("aborted", id, from) }
	return h
}

// Up reports whether the member has a runtime that can be used.
func (m *Member) Up() bool { return m.Runtime != nil && !m.Node.dead && !m.closing }

// Do runs fn on a fiber of the member's node, with a context that ends after limit,
// 0 for never. It returns at once; done, which may be nil, is called when fn has
// returned, and not if the node dies before.
func (m *Member) Do(name string, limit time.Duration, fn func(ctx context.Context), done func()) {
	m.Node.Go(name, func() {
		ctx := context.Background()
		if limit > 0 {
			inner, cancel := m.Node.WithCancel(ctx)
			stop := m.Node.After(limit, func() { cancel(errGivenUp) })
			m.giveUp = func() { cancel(errGivenUp) }
			ctx = inner
			defer func() { stop(); cancel(nil) }()
		}
		fn(ctx)
		if done != nil {
			done()
		}
	})
}

// errGivenUp ends the contexts of clients that wait no longer.
var errGivenUp = errors.New("sim: the client has given up")

// Close closes the runtime, gracefully.
func (m *Member) Close() {
	if m.closing {
		return
	}
	m.closing, m.closedFrom = true, m.c.History.Pos()
	m.c.World.Note("%s closes", m.Node.name)
	m.Do("close", 0, func(context.Context) {
		if err := m.Runtime.Close(); err != nil && m.c.quiet {
			m.c.World.Fail("closing %s: %v", m.Node.name, err)
		}
	}, func() { m.closed = true })
}
