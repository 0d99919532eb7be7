package coalesce_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest"
)

// TestPassesTheKit: nobody can tell that it is there, whatever its bounds are.
func TestPassesTheKit(t *testing.T) {
	for _, o := range []coalesce.Options{{}, {MaxRequests: 3, Flushers: 4}, {MaxBytes: 1}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			open := func(ctx context.Context) (storetest.Bench, error) {
				var now atomic.Int64
				now.Store(1_700_000_000_000_000)
				db := memstore.New(&memstore.Options{Now: func() event.Time { return event.Time(now.Load()) }})
				s, err := store.Stack(store.Of(db), coalesce.New(&o))
				return storetest.Bench{Store: s, Advance: func(d time.Duration) { now.Add(int64(d / time.Microsecond)) }}, err
			}
			storetest.Run(t, open, storetest.Claim{})
		})
	}
}
