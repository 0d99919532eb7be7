package fault_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest"
)

// TestPassesTheKit: with no fault to make, nobody can tell that it is there.
func TestPassesTheKit(t *testing.T) {
	open := func(ctx context.Context) (storetest.Bench, error) {
		var now atomic.Int64
		now.Store(1_700_000_000_000_000)
		db := memstore.New(&memstore.Options{Now: func() event.Time { return event.Time(now.Load()) }})
		s, err := store.Stack(store.Of(db), fault.New(&fault.Options{Chooser: fault.Seeded(1)}).Decorator())
		return storetest.Bench{Store: s, Advance: func(d time.Duration) { now.Add(int64(d / time.Microsecond)) }}, err
	}
	storetest.Run(t, open, storetest.Claim{})
}
