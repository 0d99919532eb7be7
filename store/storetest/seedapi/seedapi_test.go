package seedapi_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// opener returns benches of memory stores, on a clock that moves.
func opener(level store.Level) storetest.Opener {
	return func(context.Context) (storetest.Bench, error) {
		var now atomic.Int64
		now.Store(1_800_000_000_000_000)
		db := memstore.New(&memstore.Options{Now: func() event.Time { return event.Time(now.Load()) }, Level: level})
		return storetest.Bench{Store: store.Of(db), Advance: func(d time.Duration) { now.Add(d.Microseconds()) }}, nil
	}
}

func TestOlderOperations(t *testing.T) {
	seedapi.Run(t, opener(store.Level23), storetest.Claim{})
}

func TestOlderOperationsWithoutIncarnations(t *testing.T) {
	seedapi.Run(t, opener(store.Level22), storetest.Claim{SPI: "2.2.0"})
}
