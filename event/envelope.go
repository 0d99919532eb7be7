package event

import "bytes"

// Envelope is one recorded event. A reader owns the slices of an envelope that
// it was given, and so does a store: neither may change them afterwards.
type Envelope struct {
	Execution ExecutionID
	Sequence  Seq
	Kind      Kind
	Time      Time   // when the node took it, never below the event before
	Payload   []byte // as encoded once; see [Encode]
	Meta      []byte // canonical metadata (see [EncodeMeta]), nil for none
}

// New returns the envelope of p at seq.
func New(id ExecutionID, seq Seq, at Time, p Payload, meta []byte) Envelope {
	return Envelope{Execution: id, Sequence: seq, Kind: p.Kind(), Time: at, Payload: Encode(p), Meta: meta}
}

// ID returns the derived id "<executionId>-<sequence>".
func (e Envelope) ID() string { return EnvelopeID(e.Execution, e.Sequence) }

// Decode returns the payload. The error is a [*DecodeError] that names the
// event, and nothing else; an unknown kind is no error, see [Unknown].
func (e Envelope) Decode() (Payload, error) {
	p, err := Decode(e.Kind, e.Payload)
	if err != nil {
		return nil, &DecodeError{Execution: e.Execution, Sequence: e.Sequence, Kind: e.Kind, Err: err}
	}
	return p, nil
}

// Size returns the bytes that e weighs in budgets: payload, metadata and the
// names, without any store's overhead.
func (e Envelope) Size() int {
	return len(e.Execution) + len(e.Kind) + len(e.Payload) + len(e.Meta) + 16
}

// Equal reports whether e and o are the same event, byte for byte.
func (e Envelope) Equal(o Envelope) bool {
	return e.Execution == o.Execution && e.Sequence == o.Sequence && e.Kind == o.Kind && e.Time == o.Time &&
		bytes.Equal(e.Payload, o.Payload) && bytes.Equal(e.Meta, o.Meta)
}
