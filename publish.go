package loom

import (
	"fmt"
	"math"

	"github.com/loomwork/loom/event"
)

// MaxPublished is how many keys an execution may show at a time; a value that it shows
// has at most MaxPublishedBytes as text.
const (
	MaxPublished      = 64
	MaxPublishedBytes = 256
)

// Set shows value under key, in the place of the key's earlier value, to whoever lists
// executions: it stands in [Summary.Published], and [Filter.Published] finds the execution
// by it, as text: a string is its own text, anything else its JSON. A nil value, or any
// that is null as JSON, takes the key back.
//
//	loom.Set(ctx, "stage", "waiting for approval")
//
// Set records the pair and goes on, without waiting for the store. The pair is shown once
// the record is durable, which it is before anything that comes after depends on it, and
// stays when the execution has ended. A cancel does not keep it from being recorded,
// so that a body can say how it gives way.
//
// It is there for people and for searches. What the next step needs is what the body has
// in its variables.
//
// Errors, of which nothing is recorded: a [*NameError] for the key; an
// [*InputValidationError] for a value that cannot be written, or a key that is one more
// than [MaxPublished]; a [*TooLargeError] above [MaxPublishedBytes]; [ErrUnloading],
// [*WrongBranchError], [*ForeignGoroutineError].
func Set(ctx Context, key string, value any) error {
	b := ctx.branch()
	if err := checkName("key", key); err != nil {
		return err
	}
	what := "state " + key
	raw, err := encode(what, value, math.MaxInt) // what fits says its text
	if err != nil {
		return err
	}
	if n := len(event.StateSet{Key: key, Value: raw}.Text()); n > MaxPublishedBytes {
		return &TooLargeError{What: what, Bytes: n, Limit: MaxPublishedBytes}
	}
	full, d := b.k.Publish(key, raw, MaxPublished)
	if full {
		return &InputValidationError{What: what, Err: fmt.Errorf("is one key more than the %d that may be shown", MaxPublished)}
	}
	return b.denied(d)
}
