package memstore

import (
	"time"

	"github.com/loomwork/loom/event"
)

// machineClock returns a clock that starts at the machine's time and goes on
// with its monotonic one, so that leases and wake-ups see no step.
func machineClock() func() event.Time {
	began := time.Now()
	base := event.At(began)
	return func() event.Time { return base + event.Time(time.Since(began)/time.Microsecond) }
}
