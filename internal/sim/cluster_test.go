package sim

import (
	"testing"

	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// inMemory opens a memory store on the world's clock.
func inMemory(w *World) (store.Store, func(), error) {
	return store.Of(memstore.New(&memstore.Options{Now: w.StoreNow})), nil, nil
}

// TestSimCluster: oracle O1 to O11, O13, O14, O19 and O20 over random stories.
func TestSimCluster(t *testing.T) {
	s := &Story{Open: inMemory}
	s.Campaign(t, 52)
}

// TestSimRich: the same oracles over stories with compensations, clean-ups, steps that may
// be called once and steps that are verified before they are called again.
func TestSimRich(t *testing.T) {
	s := &Story{Open: inMemory, Config: DrawRich, Part: 4}
	s.Campaign(t, 13)
}

// TestSimFamily: the same oracles over stories with children, generations, versions,
// progress and terminations as well. races 17, 18 and 19
func TestSimFamily(t *testing.T) {
	s := &Story{Open: inMemory, Config: DrawFamily, Part: 4}
	s.Campaign(t, 13)
}
