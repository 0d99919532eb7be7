package event

// KindEffectFailed is the recorded name of [EffectFailed].
const KindEffectFailed Kind = "EFFECT_FAILED"

// EffectFailed settles an effect with an error.
type EffectFailed struct {
	Op      string   // identity of the operation: its path
	Attempt int      // the attempt that settled it, from 1; 0 if none was made
	Error   *Failure // why
}

// Kind implements [Payload].
func (EffectFailed) Kind() Kind { return KindEffectFailed }

func (p EffectFailed) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.numIf("attempt", int64(p.Attempt))
	p.Error.append(&w, "error")
	return w.end()
}

func (p *EffectFailed) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "attempt":
		return readInt(raw, &p.Attempt)
	case "error":
		return readFailure(raw, &p.Error)
	}
	return nil
}

func (p *EffectFailed) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Error == nil {
		return missing("error")
	}
	return nil
}
