package coalesce

import (
	"context"
	"slices"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
)

// lane is a line of requests of which one flush at a time is on its way. group.mu
// guards it.
type lane struct {
	waiting []*item
	bytes   int
	busy    bool      // a fiber works on it
	linger  rt.Signal // while that fiber waits for company
	taken   map[event.ExecutionID]bool
}

// flight is one flush on its way.
type flight struct {
	items   []*item
	callers int // requests of it that somebody waits for
	end     context.CancelCauseFunc
}

// ready reports whether waiting longer is no use.
func (l *lane) ready(o *Options) bool {
	return len(l.waiting) >= o.MaxRequests || l.bytes >= o.MaxBytes ||
		slices.ContainsFunc(l.waiting, func(it *item) bool { return it.req.Alone })
}

// take removes from the line what the next flush is made of: as much as fits, one
// request an execution, from the front. What is passed over keeps its place.
func (l *lane) take(o *Options) (items []*item) {
	clear(l.taken)
	bytes, rest := 0, l.waiting[:0]
	for n, it := range l.waiting {
		if len(items) > 0 && (len(items) == o.MaxRequests || bytes+it.bytes > o.MaxBytes || items[0].req.Alone) {
			rest = append(rest, l.waiting[n:]...)
			break
		}
		id := it.req.Execution
		if l.taken[id] || it.req.Alone && len(items) > 0 {
			l.taken[id] = true // what comes behind it for this execution waits too
			rest = append(rest, it)
			continue
		}
		l.taken[id] = true
		items = append(items, it)
		bytes += it.bytes
	}
	clear(l.waiting[len(rest):])
	l.waiting = rest
	l.bytes -= bytes
	return items
}

// work flushes what waits in l until nothing does.
func (g *group) work(world rt.Runtime, l *lane) {
	ctx := rt.With(context.Background(), world)
	for {
		// Callers that are ready to run put theirs in as well. It costs nothing when there
		// are none.
		world.Yield()
		if g.opts.MaxLinger > 0 {
			g.linger(ctx, world, l)
		}
		f := g.depart(ctx, world, l)
		if f == nil {
			return
		}
		g.arrive(world, f)
	}
}

// linger waits for company of what waits in l, as long as the first of it may be kept.
func (g *group) linger(ctx context.Context, world rt.Runtime, l *lane) {
	now, s := world.Mono(), world.NewSignal()
	g.mu.Lock()
	var rest time.Duration
	if len(l.waiting) > 0 && !l.ready(&g.opts) {
		if rest = g.opts.MaxLinger - (now - l.waiting[0].call.came); rest > 0 {
			l.linger = s
		}
	}
	g.mu.Unlock()
	if rest <= 0 {
		return
	}
	stop := world.After(rest, s.Wake)
	defer stop()
	_ = s.Wait(ctx) // which does not end
	g.mu.Lock()
	l.linger = nil
	g.mu.Unlock()
}

// depart sends the next flush and waits for its answers; nil if nothing waits, and
// then l is nobody's.
func (g *group) depart(ctx context.Context, world rt.Runtime, l *lane) *flight {
	f := &flight{}
	ctx, end := world.WithCancel(ctx)
	defer end(nil)
	g.mu.Lock()
	if len(l.waiting) == 0 {
		l.busy, l.waiting = false, nil
		g.mu.Unlock()
		return nil
	}
	f.items = l.take(&g.opts)
	f.end = end
	for _, it := range f.items {
		it.flight = f
		if !it.call.gone {
			f.callers++
		}
	}
	g.mu.Unlock()
	g.send(ctx, f.items)
	return f
}

// arrive hands the answers to those who wait for them, and lets in whom there is room
// for now.
func (g *group) arrive(world rt.Runtime, f *flight) {
	var done []rt.Latch
	var wakes []rt.Signal
	g.mu.Lock()
	for _, it := range f.items {
		it.flight, it.answered = nil, true
		g.mu.held -= it.bytes
		if it.call.left--; it.call.left == 0 && !it.call.gone {
			done = append(done, it.call.done)
		}
	}
	for len(g.mu.gate) > 0 && g.room(g.mu.gate[0]) {
		wakes = append(wakes, g.admit(g.mu.gate[0])...)
		g.mu.gate = slices.Delete(g.mu.gate, 0, 1)
	}
	idle := g.idle()
	g.mu.Unlock()
	for _, d := range done {
		d.Open()
	}
	for _, s := range wakes {
		s.Wake()
	}
	g.begin(world, idle)
}
