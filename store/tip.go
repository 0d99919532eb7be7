package store

import (
	"encoding/hex"
	"strconv"

	"github.com/loomwork/loom/event"
)

// Fence is a who-may-write token. Tokens start at 0 with each incarnation of an
// execution and grow by one with each claim. [NoFence] is a missing token, which
// is not the same as token 0.
type Fence int64

// NoFence is the token of a writer that holds none.
const NoFence Fence = -1

// Anchor names one incarnation of an execution id. It is opaque: compared for
// equality, carried, never parsed by a caller.
type Anchor string

// NodeID names a process with a runtime: a ULID minted at its start. The empty
// NodeID is nobody.
type NodeID string

// Nonce makes a request recognisable when it is sent again. It is random and
// stands in no event.
type Nonce [16]byte

// IsZero reports whether n is unset.
func (n Nonce) IsZero() bool { return n == Nonce{} }

func (n Nonce) String() string { return hex.EncodeToString(n[:]) }

// Tip is what a writer saw of an execution, and what its request expects to
// find.
type Tip struct {
	Head   event.Seq // last sequence; event.None: no such execution
	Fence  Fence
	Anchor Anchor
	Mark   Nonce // nonce of the last commit; the zero nonce in an expectation is not compared
}

// Absent is the tip of an execution that does not exist.
var absent = Tip{Head: event.None, Fence: NoFence}

// Absent returns the tip of an execution that does not exist: what a start
// expects.
func Absent() Tip { return absent }

// Exists reports whether the tip is that of an existing execution.
func (t Tip) Exists() bool { return t.Head != event.None }

// LegacyAnchor returns the anchor of a log without an incarnation:
// "<timestamp>:<id of sequence 0>". It holds a colon, so it equals no
// incarnation.
func LegacyAnchor(first event.Envelope) Anchor {
	return Anchor(strconv.FormatInt(int64(first.Time), 10) + ":" + first.ID())
}

// IncarnationAnchor returns the anchor of an incarnation: its decimal string.
func IncarnationAnchor(n int64) Anchor { return Anchor(strconv.FormatInt(n, 10)) }
