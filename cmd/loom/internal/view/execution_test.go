package view

import (
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// What a store calls "at once" is no date of 1970.
func TestAWakeUpHasARealTime(t *testing.T) {
	updated := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		wake time.Time
		want string
	}{
		{event.Time(0).Time(), "2026-03-01T12:00:00Z"},
		{event.Time(-1).Time(), "2026-03-01T12:00:00Z"},
		{updated.Add(-time.Hour), "2026-03-01T11:00:00Z"},
		{updated.Add(time.Hour), "2026-03-01T13:00:00Z"},
		{time.Time{}, ""},
	} {
		row := RowOf(loom.Summary{ID: "x", Status: fold.Running, WakeAt: c.wake, Updated: updated})
		got := ""
		if row.WakeAt != nil {
			got = *row.WakeAt
		}
		if got != c.want {
			t.Errorf("a wake-up at %v is %q, want %q", c.wake, got, c.want)
		}
	}
}
