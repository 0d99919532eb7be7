package coalesce

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
)

// Options of the decorator. The zero value, like nil, is right for most.
type Options struct {
	// MaxLinger is how long a request may wait for company before its flush begins; 0
	// for not at all. Under load the flush before is wait enough, and without load
	// there is no company to come.
	MaxLinger time.Duration
	// MaxRequests is the most requests in a flush; 0 for 512.
	MaxRequests int
	// MaxBytes bounds a flush, by about what its requests weigh; 0 for 8 MiB. A request
	// that weighs more has a flush of its own. Callers block while backlog times as
	// much is on its way.
	MaxBytes int
	// Flushers is how many flushes may be on their way at once; 0 for one. Each
	// execution belongs to one of them.
	Flushers int
}

// backlog times MaxBytes may wait or be in flight; who comes then is kept waiting.
const backlog = 4

// New returns the decorator. It may decorate several stores, each of which has a line
// of its own. o may be nil.
func New(o *Options) store.Decorator {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxRequests <= 0 {
		opts.MaxRequests = 512
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 8 << 20
	}
	if opts.Flushers <= 0 {
		opts.Flushers = 1
	}
	return store.Decorator{Name: "coalesce", Rank: store.RankCoalesce, Wrap: func(in store.Store) store.Store {
		out := in // an observer
		out.Log = newGroup(in.Log, opts)
		return out
	}}
}

// group is the way to one store. Read and Tip pass.
type group struct {
	store.Log
	opts Options
	// outside is the world of callers whose context names none.
	outside rt.Runtime

	mu struct {
		sync.Mutex // never held while calling the world or the store
		lanes      []lane
		gate       []*call // came while there was no room, in order
		held       int     // bytes that were let in and are not answered
	}
}

func newGroup(in store.Log, o Options) *group {
	world := rt.NewReal()
	world.Close() // it keeps no goroutine for later
	g := &group{Log: in, opts: o, outside: world}
	g.mu.lanes = make([]lane, o.Flushers)
	for i := range g.mu.lanes {
		g.mu.lanes[i].taken = map[event.ExecutionID]bool{}
	}
	return g
}

// Commit implements store.Log.
func (g *group) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(reqs) == 0 {
		return g.Log.Commit(ctx)
	}
	world, ok := rt.Of(ctx)
	if !ok {
		world = g.outside
	}
	c := newCall(world.NewLatch(), reqs)
	if g.opts.MaxLinger > 0 {
		c.came = world.Mono()
	}
	g.enter(world, c)
	if cause := c.done.Wait(ctx); cause != nil {
		return g.leave(c, cause)
	}
	return c.results(nil)
}

// enter puts c into the line, or before the gate if there is no room.
func (g *group) enter(world rt.Runtime, c *call) {
	g.mu.Lock()
	if len(g.mu.gate) > 0 || !g.room(c) {
		c.gated = true
		g.mu.gate = append(g.mu.gate, c)
		g.mu.Unlock()
		return
	}
	wakes := g.admit(c)
	idle := g.idle()
	g.mu.Unlock()
	for _, s := range wakes {
		s.Wake()
	}
	g.begin(world, idle)
}

// room reports whether c may come in. Whatever its size, it may when nobody else is
// there.
func (g *group) room(c *call) bool {
	return g.mu.held == 0 || g.mu.held+c.bytes <= backlog*g.opts.MaxBytes
}

// admit puts c's requests into their lanes, and returns who lingers no longer.
func (g *group) admit(c *call) (wakes []rt.Signal) {
	c.gated = false
	g.mu.held += c.bytes
	for i := range c.items {
		l := &g.mu.lanes[g.laneOf(c.items[i].req.Execution)]
		l.waiting = append(l.waiting, &c.items[i])
		l.bytes += c.items[i].bytes
		if l.linger != nil && l.ready(&g.opts) {
			wakes = append(wakes, l.linger)
			l.linger = nil
		}
	}
	return wakes
}

// idle returns the lanes that have something to do and nobody who does it. The caller
// begins them.
func (g *group) idle() (idle []*lane) {
	for i := range g.mu.lanes {
		if l := &g.mu.lanes[i]; len(l.waiting) > 0 && !l.busy {
			l.busy = true
			idle = append(idle, l)
		}
	}
	return idle
}

func (g *group) begin(world rt.Runtime, idle []*lane) {
	for _, l := range idle {
		world.Go("flush", func() { g.work(world, l) })
	}
}

// leave answers a caller whose wait has ended: with what it knows.
func (g *group) leave(c *call, cause error) ([]store.Result, error) {
	var over []context.CancelCauseFunc
	g.mu.Lock()
	if c.gated {
		g.mu.gate = slices.DeleteFunc(g.mu.gate, func(x *call) bool { return x == c })
		g.mu.Unlock()
		return nil, cause // nothing was attempted
	}
	c.gone = true
	for i := range c.items {
		if f := c.items[i].flight; f != nil {
			if f.callers--; f.callers == 0 {
				over = append(over, f.end)
			}
		}
	}
	res, err := c.results(cause)
	g.mu.Unlock()
	for _, end := range over {
		end(cause)
	}
	return res, err
}

// laneOf is where an execution's requests wait.
func (g *group) laneOf(id event.ExecutionID) int {
	if len(g.mu.lanes) == 1 {
		return 0
	}
	hash := uint32(2166136261) // FNV-1a
	for i := range len(id) {
		hash = (hash ^ uint32(id[i])) * 16777619
	}
	return int(hash % uint32(len(g.mu.lanes)))
}
