package event

// KindEffectAttemptFailed is the recorded name of [EffectAttemptFailed].
const KindEffectAttemptFailed Kind = "EFFECT_ATTEMPT_FAILED"

// EffectAttemptFailed records a failed call that will be repeated; it is also
// the intent of the next attempt. Passive.
type EffectAttemptFailed struct {
	Op        string   // identity of the operation: its path
	Attempt   int      // the attempt that failed, from 1
	Error     *Failure // why
	NotBefore Time     // when the next attempt is due
}

// Kind implements [Payload].
func (EffectAttemptFailed) Kind() Kind { return KindEffectAttemptFailed }

func (p EffectAttemptFailed) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.num("attempt", int64(p.Attempt))
	p.Error.append(&w, "error")
	w.num("notBefore", int64(p.NotBefore))
	return w.end()
}

func (p *EffectAttemptFailed) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "attempt":
		return readInt(raw, &p.Attempt)
	case "error":
		return readFailure(raw, &p.Error)
	case "notBefore":
		return readInt(raw, &p.NotBefore)
	}
	return nil
}

func (p *EffectAttemptFailed) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Attempt == 0 {
		return missing("attempt")
	}
	if p.Error == nil {
		return missing("error")
	}
	if p.NotBefore == 0 {
		return missing("notBefore")
	}
	return nil
}
