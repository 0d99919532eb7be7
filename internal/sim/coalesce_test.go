package sim

import (
	"context"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
)

// gathered draws a configuration in which each node gathers its commits.
func gathered(w *World) Config {
	c := Draw(w)
	c.Executions += 6 // so that there is something to gather
	c.Gather = &Gather{Requests: 2 + w.Decide("requests of a flush", 8), Flushers: 1 + w.Decide("flushers", 2)}
	if w.Decide("linger", 3) > 0 {
		c.Gather.Linger = c.Lease * time.Duration(1+w.Decide("lingers", 8)) / 32
	}
	return c
}

// TestSimCoalesce: oracle O1 to O11, O13, O14, O19 and O20 over random stories in which
// each node gathers its commits. A flush is one step of the world, and dies with its
// node; what goes wrong on its way goes wrong for each of its requests.
func TestSimCoalesce(t *testing.T) {
	s := &Story{Open: inMemory, Config: gathered}
	s.Campaign(t, 10)
}

// TestSimCoalesceRaces plays the races of the design with gathered commits.
func TestSimCoalesceRaces(t *testing.T) {
	for _, r := range Races() {
		t.Run(r.Name, func(t *testing.T) {
			s := r.Story(inMemory)
			draw := s.Config
			s.Config = func(w *World) Config {
				c := draw(w)
				c.Gather = &Gather{Requests: 8, Flushers: 1}
				return c
			}
			s.Seeds(t, 5)
		})
	}
}

// TestSimCoalesceGathers: a story's commits do share flushes; else those above would show
// nothing.
func TestSimCoalesceGathers(t *testing.T) {
	shared, flushes := 0, 0
	for seed := range uint64(20) {
		s := &Story{Open: func(w *World) (store.Store, func(), error) {
			in, done, err := inMemory(w)
			in.Log = counted{in.Log, &shared, &flushes}
			return in, done, err
		}, Config: gathered, Once: true}
		if _, err := s.Seed(seed + 1); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d flushes had company", shared, flushes)
	if shared*20 < flushes {
		t.Error("hardly any")
	}
}

// counted counts calls, and those of more than one request.
type counted struct {
	store.Log
	shared, flushes *int
}

func (l counted) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	*l.flushes++
	if len(reqs) > 1 {
		*l.shared++
	}
	return l.Log.Commit(ctx, reqs...)
}

// within makes the world known to calls that come with a bare context.
type within struct {
	store.Log
	n *Node
}

func (l within) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	return l.Log.Commit(rt.With(ctx, l.n), reqs...)
}

// gatheredCrowd is the crowd with four fibers a node that share their flushes, and that
// use the same few executions as those of other nodes.
func gatheredCrowd(w *World, h *History, shared, flushes *int) func() {
	return func() {
		db := store.Of(memstore.New(&memstore.Options{Now: w.StoreNow}))
		db.Log = counted{db.Log, shared, flushes}
		left, done := 12, w.Outside().NewLatch()
		for i := range 3 {
			n := w.Node(string(rune('A' + i)))
			link := n.Connect(db, h, fault.Rates{LoseReply: 40, LoseRequest: 40, Fail: 60, FailRead: 40, FailRenew: 60, Slow: 40, Late: 40}, nil)
			link = link.gather(&Gather{Requests: 2 + w.Decide("requests of a flush", 4), Flushers: 1 + w.Decide("flushers", 2)})
			link.Store.Log = within{link.Store.Log, n}
			for range 4 {
				n.Go("acts", func() {
					seen := map[event.ExecutionID]store.Head{}
					for range 15 {
						crowdAct(w, n, link.Store, seen)
					}
					if left--; left == 0 {
						done.Open()
					}
				})
			}
		}
		done.Wait(background)
		w.Outside().Sleep(time.Minute) // what is late still lands
	}
}

// TestSimCoalesceCrowd: oracle O1, O2, O8 and O20 over the store alone, with gathered
// commits and every fault.
func TestSimCoalesceCrowd(t *testing.T) {
	const seeds = 60
	shared, flushes := 0, 0
	for seed := range uint64(seeds) {
		var runs [2]Run
		for i := range runs {
			w := New(seed, nil)
			h := NewHistory(w)
			if err := w.Run(gatheredCrowd(w, h, &shared, &flushes)); err != nil {
				t.Fatal(err)
			}
			runs[i] = Run{w, h}
		}
		vs := append(Same(runs[0], runs[1]), Judge(Judgement{History: runs[0].History})...)
		if len(vs) > 0 {
			t.Fatalf("seed %d: %v", seed, vs)
		}
	}
	if shared < 5*seeds {
		t.Errorf("of %d flushes only %d had company", flushes, shared)
	}
	t.Logf("%d of %d flushes had company", shared, flushes)
	t.Logf("tally: seeds=%d", seeds)
}
