package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/loomwork/loom/event"
)

// Occurrence is one instant at which a schedule runs its flow.
type Occurrence struct {
	// Schedule is the schedule's id: 1 to [MaxScheduleBytes] characters of
	// A-Z a-z 0-9 _ . : + -.
	Schedule string
	// At is a whole second of the years 1970 to 9999. In which zone it is given makes no
	// difference.
	At time.Time
}

// separator stands between the two halves of an occurrence's id, and in no schedule id.
const separator = "@"

// layout is how an instant is spelled, always in UTC. All are of one length, so that the
// ids of a schedule sort by time. It was recorded: it cannot change any more.
const layout = "2006-01-02T15:04:05Z"

// MaxScheduleBytes is the longest id of a schedule, in bytes: what an execution id has
// left beside the instant.
const MaxScheduleBytes = event.MaxIDBytes - len(separator) - len(layout)

// OccurrenceError reports an occurrence that has no id, or an id that is no occurrence's.
// Nothing was started.
type OccurrenceError struct {
	What   string // the schedule id, the instant or the execution id that is wrong
	Reason string // one clause, for people
	Err    error  // what refused it, nil for none
}

func (e *OccurrenceError) Error() string {
	return fmt.Sprintf("schedule: %q %s", cut(e.What), e.Reason)
}

// Unwrap returns the cause.
func (e *OccurrenceError) Unwrap() error { return e.Err }

// LoomCode returns the error's stable code.
func (e *OccurrenceError) LoomCode() string { return "invalid_occurrence" }

// cut keeps an error's text short, whatever was given.
func cut(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// ID returns the id of the occurrence's execution, "<schedule>@<instant in UTC>", as in
// "nightly@2026-11-30T02:30:00Z". It is the same on every node and in every zone, and no
// other occurrence has it. The error is an [*OccurrenceError].
func (o Occurrence) ID() (event.ExecutionID, error) {
	if err := event.ExecutionID(o.Schedule).ValidateChosen(); err != nil {
		return "", &OccurrenceError{What: o.Schedule, Reason: "is no id of a schedule: " + err.Error(), Err: err}
	}
	if n := len(o.Schedule); n > MaxScheduleBytes {
		return "", &OccurrenceError{What: o.Schedule, Reason: fmt.Sprintf("has %d bytes, the limit for a schedule is %d", n, MaxScheduleBytes)}
	}
	at := o.At.UTC()
	switch y := at.Year(); {
	case y < 1970 || y > 9999:
		return "", &OccurrenceError{What: at.Format(time.RFC3339Nano), Reason: "is not in the years 1970 to 9999"}
	case at.Nanosecond() != 0:
		return "", &OccurrenceError{What: at.Format(time.RFC3339Nano), Reason: "is no whole second"}
	}
	return event.ExecutionID(o.Schedule + separator + at.Format(layout)), nil
}

// Parse returns the occurrence that an execution id names, with At in UTC. It takes the
// one spelling that [Occurrence.ID] gives and no other; the error is an
// [*OccurrenceError].
func Parse(id event.ExecutionID) (Occurrence, error) {
	name, instant, found := strings.Cut(string(id), separator)
	if !found {
		return Occurrence{}, &OccurrenceError{What: string(id), Reason: "holds no " + separator}
	}
	at, err := time.Parse(layout, instant)
	if err != nil {
		return Occurrence{}, &OccurrenceError{What: string(id), Reason: "does not end with an instant as in " + layout, Err: err}
	}
	o := Occurrence{Schedule: name, At: at}
	switch spelled, err := o.ID(); {
	case err != nil:
		return Occurrence{}, err
	case spelled != id: // time.Parse is more generous than Format
		return Occurrence{}, &OccurrenceError{What: string(id), Reason: "is spelled " + string(spelled)}
	}
	return o, nil
}
