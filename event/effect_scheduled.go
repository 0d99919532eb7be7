package event

import "encoding/json"

// KindEffectScheduled is the recorded name of [EffectScheduled].
const KindEffectScheduled Kind = "EFFECT_SCHEDULED"

// EffectScheduled is the intent to call an effect. It is durable before the
// first call.
type EffectScheduled struct {
	Op   string          // identity of the operation: its path
	Args json.RawMessage // what loom.Args gave, for people and for drift checks
}

// Kind implements [Payload].
func (EffectScheduled) Kind() Kind { return KindEffectScheduled }

func (p EffectScheduled) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.rawIf("args", p.Args)
	return w.end()
}

func (p *EffectScheduled) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "args":
		return readRaw(raw, &p.Args)
	}
	return nil
}

func (p *EffectScheduled) check() error {
	if p.Op == "" {
		return missing("op")
	}
	return nil
}
