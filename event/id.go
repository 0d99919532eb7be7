package event

import (
	"fmt"
	"strconv"
	"strings"
)

// ExecutionID names one execution. See [ExecutionID.Validate] for its grammar.
type ExecutionID string

// MaxIDBytes is the longest execution id, in bytes.
const MaxIDBytes = 200

// Separators are the characters that only Loom itself puts into an execution
// id: '@' before the instant of a schedule's occurrence, '/' after a tenant or
// before a child's name. A caller may not choose an id that holds one, because
// two different composites could then spell the same id.
const Separators = "@/"

// IDError reports an execution id outside the grammar. Nothing was written.
type IDError struct {
	ID     string // the id as it was given, cut at 64 bytes
	Reason string // one clause, for people
}

func (e *IDError) Error() string {
	return fmt.Sprintf("loom: execution id %q: %s", e.ID, e.Reason)
}

// LoomCode returns the error's stable code.
func (e *IDError) LoomCode() string { return "invalid_id" }

func idError(id, reason string) error {
	if len(id) > 64 {
		id = id[:64]
	}
	return &IDError{ID: id, Reason: reason}
}

// Validate returns an [*IDError], and nothing else, if id is empty, longer than
// [MaxIDBytes] or holds a character outside A-Z a-z 0-9 _ . : + - and the
// [Separators].
func (id ExecutionID) Validate() error {
	if id == "" {
		return idError("", "is empty")
	}
	if len(id) > MaxIDBytes {
		return idError(string(id), fmt.Sprintf("has %d bytes, the limit is %d", len(id), MaxIDBytes))
	}
	for i := 0; i < len(id); i++ {
		if !idByte(id[i]) {
			return idError(string(id), fmt.Sprintf("holds the byte 0x%02x at offset %d; allowed are A-Z a-z 0-9 _ . : + -", id[i], i))
		}
	}
	return nil
}

// ValidateChosen is [ExecutionID.Validate] for an id that a caller chose: it
// refuses the [Separators] as well.
func (id ExecutionID) ValidateChosen() error {
	if err := id.Validate(); err != nil {
		return err
	}
	if i := strings.IndexAny(string(id), Separators); i >= 0 {
		return idError(string(id), fmt.Sprintf("holds the reserved separator %q at offset %d: only Loom puts it into ids", id[i], i))
	}
	return nil
}

func idByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("_.:+-@/", c) >= 0
}

// Seq is the position of an event in its log, from 0. [None] is before the
// first.
type Seq int64

// None is the head of a log that does not exist.
const None Seq = -1

// EnvelopeID returns "<executionId>-<sequence>", the id of an envelope. It is
// derived wherever it is needed and stored nowhere.
func EnvelopeID(id ExecutionID, seq Seq) string {
	return string(id) + "-" + strconv.FormatInt(int64(seq), 10)
}
