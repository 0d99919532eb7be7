// Package view is what the command line shows of executions: the JSON shapes that
// are its contract, made from package loom's fold, so that list and detail agree.
package view

import (
	"time"

	"github.com/loomwork/loom/event"
)

// instant is a time in JSON: RFC 3339, UTC; omitted when zero.
type instant = *string

const layout = "2006-01-02T15:04:05.999999Z"

func at(t time.Time) instant {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(layout)
	return &s
}

func atEvent(t event.Time) instant {
	if t == 0 || t == event.Never {
		return nil
	}
	return at(t.Time())
}

// millis is a duration in JSON.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
