package loom

import (
	"fmt"
	"maps"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/composed"
	"github.com/loomwork/loom/internal/kernel"
)

// StartOption changes how [Flow.Start] starts: [ID], [Labels], [Deadline], [Delay],
// [Metadata], [WithSignal].
type StartOption func(*startSpec)

type startSpec struct {
	id       event.ExecutionID
	chosen   bool
	composed bool // the id may hold separators
	labels   map[string]string
	meta     map[string]string
	deadline time.Time
	delay    time.Duration
	parent   *parentLink // nil for none
	mail     []letterOfStart
}

// ID chooses the execution's id: 1 to 200 characters of A-Z a-z 0-9 _ . : + -. A
// repeated trigger that chooses the same id maps to the same execution.
func ID(id string) StartOption {
	return func(s *startSpec) { s.id, s.chosen, s.composed = event.ExecutionID(id), true, false }
}

// Composed is [ID] for an id that one of Loom's own packages put together, such as that
// of an occurrence (package schedule).
func Composed(id composed.ID) StartOption {
	return func(s *startSpec) { s.id, s.chosen, s.composed = id.Execution(), true, true }
}

// maxPairs is how many labels, or pairs of metadata, an execution may have.
const maxPairs = 64

// Labels are what [Runtime.List] can filter by: at most 64, names [A-Za-z0-9_.:-]{1,64},
// values up to 256 bytes.
func Labels(labels map[string]string) StartOption {
	return func(s *startSpec) { s.labels = merge(s.labels, labels) }
}

// Metadata goes with the execution's first event, for people and tools; keys and
// values as for [Labels]. The keys "fence", "parent", "target" and "not-before" are Loom's.
func Metadata(meta map[string]string) StartOption {
	return func(s *startSpec) { s.meta = merge(s.meta, meta) }
}

// Deadline cancels the execution as overdue at an instant of the store's clock; if the
// body gives way it ends as failed, with [ErrDeadline].
func Deadline(at time.Time) StartOption { return func(s *startSpec) { s.deadline = at } }

// Delay writes the execution down now and begins it after d. Messages that come before
// wait with it; a cancel, or its deadline, lets it begin, and give way, at once.
func Delay(d time.Duration) StartOption { return func(s *startSpec) { s.delay = max(d, 0) } }

func merge(into, from map[string]string) map[string]string {
	out := maps.Clone(into)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, from)
	return out
}

// validate returns an [*IDError], [*NameError], [*InputValidationError] or
// [*TooLargeError]; limit is that of a message, in bytes.
func (s *startSpec) validate(limit int) error {
	if err := s.writeMail(limit); err != nil {
		return err
	}
	if s.chosen {
		check := s.id.ValidateChosen
		if s.composed {
			check = s.id.Validate
		}
		if err := check(); err != nil {
			return err
		}
	}
	for _, set := range []struct {
		what  string
		pairs map[string]string
	}{{"label", s.labels}, {"metadata key", s.meta}} {
		if len(set.pairs) > maxPairs {
			return &InputValidationError{What: set.what + "s", Err: fmt.Errorf("are %d, the limit is %d", len(set.pairs), maxPairs)}
		}
		for k, v := range set.pairs { // order does not matter: any bad pair refuses
			if own := set.what != "label" && event.ReservedMeta(k); own || !kernel.ValidName(k) {
				return &NameError{What: set.what, Name: k, Reserved: own}
			}
			if err := checkText(set.what+" "+k, v); err != nil {
				return err
			}
		}
	}
	return nil
}
