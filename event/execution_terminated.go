package event

// KindExecutionTerminated is the recorded name of [ExecutionTerminated].
const KindExecutionTerminated Kind = "EXECUTION_TERMINATED"

// ExecutionTerminated ends an execution from outside, whatever its body was about to
// do. Passive: the body sees nothing of it.
type ExecutionTerminated struct {
	Message string // id of the message that asked
	Reason  string // for people
}

// Kind implements [Payload].
func (ExecutionTerminated) Kind() Kind { return KindExecutionTerminated }

func (p ExecutionTerminated) append(dst []byte) []byte {
	w := begin(dst)
	w.str("message", p.Message)
	w.strIf("reason", p.Reason)
	return w.end()
}

func (p *ExecutionTerminated) field(key string, raw []byte) error {
	switch key {
	case "message":
		return readString(raw, &p.Message)
	case "reason":
		return readString(raw, &p.Reason)
	}
	return nil
}

func (p *ExecutionTerminated) check() error {
	if p.Message == "" {
		return missing("message")
	}
	return nil
}
