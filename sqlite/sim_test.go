package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/loomwork/loom/internal/sim"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// onFile opens a new file for each world. A store call is one step of the world: its
// fiber waits for SQLite's goroutines. Node locks are off, because a simulated node
// is no process; nor is anything synced, because no machine dies here.
func onFile(t *testing.T, opts ...Option) sim.Open {
	return func(w *sim.World) (store.Store, func(), error) {
		path := filepath.Join(t.TempDir(), "loom.db")
		s, done, err := Open(path, append(opts, WithClock(w.StoreNowAnywhere), WithoutNodeLocks(), MayLoseLastCommits())...).OpenStore(context.Background())
		return s, func() { _ = done() }, err
	}
}

// TestSimCluster: oracle O1 to O11, O13, O14, O19 and O20 over random stories on
// real files.
func TestSimCluster(t *testing.T) {
	s := &sim.Story{Open: onFile(t)}
	s.Campaign(t, 25)
}

// TestSimRaces plays the races of the design on real files.
func TestSimRaces(t *testing.T) {
	for _, r := range sim.Races() {
		t.Run(r.Name, func(t *testing.T) { r.Story(onFile(t)).Seeds(t, 1) })
	}
}

// TestSimSweep breaks the golden flows at some of their places.
func TestSimSweep(t *testing.T) { sim.SweepAll(t, onFile(t), 6, 13) }

// TestSimMemoryAgrees: oracle O21, with faults above the stores too.
func TestSimMemoryAgrees(t *testing.T) {
	memory := func(w *sim.World) (store.Store, func(), error) {
		return store.Of(memstore.New(&memstore.Options{Now: w.StoreNow})), nil, nil
	}
	seeds := 2 + int(sim.Budget()/(3*time.Second))
	for seed := range uint64(seeds) {
		if err := sim.Agree(&sim.Story{Open: memory}, &sim.Story{Open: onFile(t)}, seed); err != nil {
			t.Error(err)
		}
	}
	t.Logf("tally: seeds=%d", seeds)
}
