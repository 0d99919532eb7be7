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

// failedOnce are seeds that found something: each run begins with them.
var failedOnce = []uint64{1, 362, 2399, 2529, 10458, 22967, 40254, 1624, 2175, 3501}

// TestSimCluster: oracle O1 to O11, O13, O14, O19 and O20 over random stories.
func TestSimCluster(t *testing.T) {
	s := &Story{Open: inMemory}
	s.Campaign(t, 65, failedOnce...)
}
