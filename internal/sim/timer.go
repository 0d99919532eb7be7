package sim

import (
	"container/heap"
	"time"
)

// timer calls fn on a fiber of its own once its node's monotonic clock shows
// due.
type timer struct {
	due time.Duration
	arm int64 // order of arming, over all nodes
	fn  func()
	at  int // place in the heap, -1 when it is out
}

// timers is a node's heap. Each node has one, in its own clock's time: when a
// clock is changed, nothing has to be moved.
type timers []*timer

func (h timers) Len() int { return len(h) }
func (h timers) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].arm < h[j].arm
}
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}
func (h *timers) Push(x any) { t := x.(*timer); t.at = len(*h); *h = append(*h, t) }
func (h *timers) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.at = -1
	return t
}

// advance moves the time to the next timer of any node that runs and fires
// everything due then, in the order (instant, arming); false if there is none.
func (w *World) advance() bool {
	next, at := w.earliest()
	if next == nil {
		return false
	}
	w.now = max(w.now, at)
	w.stored.Store(int64(w.StoreNow()))
	for {
		next, at = w.earliest()
		if next == nil || at > w.now {
			return true
		}
		t := heap.Pop(&next.timers).(*timer)
		w.spawn(next, "timer", t.fn)
	}
}

// earliest returns the node whose timer is the next to fire, and its instant.
func (w *World) earliest() (node *Node, at time.Duration) {
	for _, n := range w.nodes {
		if n.dead || n.paused || len(n.timers) == 0 {
			continue
		}
		t, ok := n.mono.when(n.timers[0].due)
		if !ok {
			continue
		}
		if node == nil || t < at || t == at && n.timers[0].arm < node.timers[0].arm {
			node, at = n, t
		}
	}
	return node, at
}
