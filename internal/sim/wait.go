package sim

import (
	"context"
	"slices"

	"github.com/loomwork/loom/internal/rt"
)

// signal implements rt.Signal.
type signal struct {
	n      *Node
	set    bool
	waiter *fiber
}

// NewSignal implements rt.Runtime.
func (n *Node) NewSignal() rt.Signal {
	n.enter()
	return &signal{n: n}
}

// Wake implements rt.Signal.
func (s *signal) Wake() {
	s.n.enter()
	s.set = true
	if s.waiter != nil {
		s.n.w.ready(s.waiter)
	}
}

// Wait implements rt.Signal.
func (s *signal) Wait(ctx context.Context) error {
	err := s.n.wait(ctx, "signal", func() bool { return s.set }, func(f *fiber) {
		if f != nil && s.waiter != nil {
			s.n.w.Fail("two fibers wait for one signal: %s and %s", s.waiter, f)
		}
		s.waiter = f
	})
	if err == nil {
		s.set = false
	}
	return err
}

// latch implements rt.Latch.
type latch struct {
	n       *Node
	open    bool
	waiters []*fiber
}

// NewLatch implements rt.Runtime.
func (n *Node) NewLatch() rt.Latch {
	n.enter()
	return &latch{n: n}
}

// Open implements rt.Latch.
func (l *latch) Open() {
	l.n.enter()
	l.open = true
	for _, f := range l.waiters {
		l.n.w.ready(f)
	}
	l.waiters = nil
}

// Opened implements rt.Latch.
func (l *latch) Opened() bool {
	l.n.enter()
	return l.open
}

// Wait implements rt.Latch. A door that is open on arrival lets in whatever ctx
// says, as the real one does.
func (l *latch) Wait(ctx context.Context) error {
	if l.open {
		ctx = context.Background()
	}
	return l.n.wait(ctx, "latch", func() bool { return l.open }, func(f *fiber) {
		if f != nil && !slices.Contains(l.waiters, f) {
			l.waiters = append(l.waiters, f)
		}
	})
}

// wait returns nil once ready says so, or the cause of ctx's end; when both hold,
// either, because a real runtime promises no more. enlist registers the fiber
// before it blocks, and nil when it is back. What can go on at once yields all
// the same: a real scheduler would be free to.
func (n *Node) wait(ctx context.Context, why string, ready func() bool, enlist func(*fiber)) error {
	n.enter()
	w := n.w
	visits := w.cur.node != n
	if visits && w.opts.Gone == nil {
		w.Fail("%s waits for a %s of %s", w.cur, why, n)
	}
	n.point(why)
	if ready() || ctx.Err() != nil {
		w.yield()
		n.enter()
	}
	for {
		is, over := ready(), ctx.Err() != nil
		if is && over {
			is = w.Decide("wait", 2) == 0
		}
		switch {
		case is:
			return nil
		case over:
			return context.Cause(ctx)
		}
		f := w.cur
		enlist(f)
		stop := w.watchContext(ctx, func() { w.ready(f) })
		if visits {
			n.visitors = append(n.visitors, f)
		}
		w.block(why)
		stop()
		enlist(nil)
		if visits {
			n.left(f)
		}
		n.enter()
	}
}
