package event

// KindExecutionResumed is the recorded name of [ExecutionResumed].
const KindExecutionResumed Kind = "EXECUTION_RESUMED"

// ExecutionResumed says that an operator lets a paused execution go on. Passive.
type ExecutionResumed struct {
	By     string // node at which it was asked for
	Reason string // for people
}

// Kind implements [Payload].
func (ExecutionResumed) Kind() Kind { return KindExecutionResumed }

func (p ExecutionResumed) append(dst []byte) []byte {
	w := begin(dst)
	w.str("by", p.By)
	w.strIf("reason", p.Reason)
	return w.end()
}

func (p *ExecutionResumed) field(key string, raw []byte) error {
	switch key {
	case "by":
		return readString(raw, &p.By)
	case "reason":
		return readString(raw, &p.Reason)
	}
	return nil
}

func (p *ExecutionResumed) check() error {
	if p.By == "" {
		return missing("by")
	}
	return nil
}
