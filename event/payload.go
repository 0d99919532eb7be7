package event

import "fmt"

// Payload is the content of an event: one of the kinds of this package, or
// [Unknown]. It is sealed.
type Payload interface {
	Kind() Kind
	// append adds the encoded payload to dst.
	append(dst []byte) []byte
}

// decodable is implemented by the pointer to every kind of this package.
type decodable interface {
	// field takes one field of the object. An unknown key is ignored: a newer
	// build may have written it, and the bytes in the envelope keep it.
	field(key string, raw []byte) error
	// check says what is missing once all fields are in.
	check() error
}

// Unknown is a payload whose kind this build does not know. Its bytes are kept.
type Unknown struct {
	Name Kind
	Raw  []byte
}

// Kind returns the recorded name.
func (u Unknown) Kind() Kind { return u.Name }

func (u Unknown) append(dst []byte) []byte { return append(dst, u.Raw...) }

// Encode returns the bytes of p. The caller owns them.
func Encode(p Payload) []byte { return p.append(make([]byte, 0, sizeHint(p))) }

// sizeHint is about how many bytes p takes: what is long in it decides.
func sizeHint(p Payload) int {
	const names = 96
	switch p := p.(type) {
	case ExecutionStarted:
		return names + len(p.Flow) + len(p.Input)
	case ExecutionContinued:
		return names + len(p.Input)
	case EffectScheduled:
		return 24 + len(p.Op) + len(p.Args)
	case ChildSettled:
		return names + len(p.Result)
	case EffectProgressed:
		return 24 + len(p.Op) + len(p.Value)
	case StateSet:
		return 24 + len(p.Key) + len(p.Value)
	case EffectCompleted:
		return 24 + len(p.Op) + len(p.Result)
	case MessageReceived:
		return names + len(p.Op) + len(p.Body)
	case RequestAnswered:
		return names + len(p.Result)
	case ExecutionCompleted:
		return 12 + len(p.Result)
	case Unknown:
		return len(p.Raw)
	}
	return names
}

// Decode returns the payload of kind k. It owns no part of raw beyond the byte
// fields of the payload, which alias it. A kind that this build does not know
// gives [Unknown] and no error.
func Decode(k Kind, raw []byte) (Payload, error) {
	for i := range kinds {
		if kinds[i].kind == k {
			return kinds[i].decode(raw)
		}
	}
	return Unknown{Name: k, Raw: raw}, nil
}

func decodeAs[P Payload](raw []byte) (Payload, error) {
	var p P
	d := any(&p).(decodable) // every row of the table is: a test decodes each
	if err := object(raw, d.field); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// DecodeError reports a stored event that cannot be read. The event stays where
// it is; nothing is driven from it.
type DecodeError struct {
	Execution ExecutionID
	Sequence  Seq
	Kind      Kind
	Err       error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("loom: event %s (%s) does not decode: %v", EnvelopeID(e.Execution, e.Sequence), e.Kind, e.Err)
}

// LoomCode returns the error's stable code.
func (e *DecodeError) LoomCode() string { return "undecodable" }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }
