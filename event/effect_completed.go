package event

import "encoding/json"

// KindEffectCompleted is the recorded name of [EffectCompleted].
const KindEffectCompleted Kind = "EFFECT_COMPLETED"

// EffectCompleted is the result of an effect, whether or not it had an intent
// (a read-only effect has none).
type EffectCompleted struct {
	Op     string          // identity of the operation: its path
	Result json.RawMessage // as encoded once
}

// Kind implements [Payload].
func (EffectCompleted) Kind() Kind { return KindEffectCompleted }

func (p EffectCompleted) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.raw("result", p.Result)
	return w.end()
}

func (p *EffectCompleted) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "result":
		return readRaw(raw, &p.Result)
	}
	return nil
}

func (p *EffectCompleted) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Result == nil {
		return missing("result")
	}
	return nil
}
