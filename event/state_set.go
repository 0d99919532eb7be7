package event

import (
	"bytes"
	"encoding/json"
)

// KindStateSet is the recorded name of [StateSet].
const KindStateSet Kind = "STATE_SET"

// StateSet is a pair that the execution shows of itself in lists, from here on: a value
// in the place of the key's earlier one. A value of JSON null takes the key back.
type StateSet struct {
	Key   string
	Value json.RawMessage
}

// Kind implements [Payload].
func (StateSet) Kind() Kind { return KindStateSet }

// Gone reports whether the key is taken back.
func (p StateSet) Gone() bool { return bytes.Equal(p.Value, []byte("null")) }

// Text returns the value as lists show it and searches compare it: a string without its
// quotes and escapes, any other value as its recorded JSON.
func (p StateSet) Text() string {
	if text, err := unquote(p.Value); err == nil {
		return text
	}
	return string(p.Value)
}

func (p StateSet) append(dst []byte) []byte {
	w := begin(dst)
	w.str("key", p.Key)
	w.raw("value", p.Value)
	return w.end()
}

func (p *StateSet) field(key string, raw []byte) error {
	switch key {
	case "key":
		return readString(raw, &p.Key)
	case "value":
		return readRaw(raw, &p.Value)
	}
	return nil
}

func (p *StateSet) check() error {
	if p.Key == "" {
		return missing("key")
	}
	if p.Value == nil {
		return missing("value")
	}
	return nil
}
