package event

import "encoding/json"

// KindEffectProgressed is the recorded name of [EffectProgressed].
const KindEffectProgressed Kind = "EFFECT_PROGRESSED"

// EffectProgressed records how far an open effect has come, for its next attempt.
// Passive.
type EffectProgressed struct {
	Op    string          // identity of the operation: its path
	Value json.RawMessage // what the effect gave
}

// Kind implements [Payload].
func (EffectProgressed) Kind() Kind { return KindEffectProgressed }

func (p EffectProgressed) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.raw("value", p.Value)
	return w.end()
}

func (p *EffectProgressed) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "value":
		return readRaw(raw, &p.Value)
	}
	return nil
}

func (p *EffectProgressed) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Value == nil {
		return missing("value")
	}
	return nil
}
