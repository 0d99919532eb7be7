package event

// KindExecutionPaused is the recorded name of [ExecutionPaused].
const KindExecutionPaused Kind = "EXECUTION_PAUSED"

// ExecutionPaused says that an operator has halted the execution: nothing of it goes on,
// and nothing wakes it, until [ExecutionResumed]. Passive.
type ExecutionPaused struct {
	By      string // node at which it was asked for
	Message string // id of the message that asked, "" if nobody drove the execution then
	Reason  string // for people
}

// Kind implements [Payload].
func (ExecutionPaused) Kind() Kind { return KindExecutionPaused }

func (p ExecutionPaused) append(dst []byte) []byte {
	w := begin(dst)
	w.str("by", p.By)
	w.strIf("message", p.Message)
	w.strIf("reason", p.Reason)
	return w.end()
}

func (p *ExecutionPaused) field(key string, raw []byte) error {
	switch key {
	case "by":
		return readString(raw, &p.By)
	case "message":
		return readString(raw, &p.Message)
	case "reason":
		return readString(raw, &p.Reason)
	}
	return nil
}

func (p *ExecutionPaused) check() error {
	if p.By == "" {
		return missing("by")
	}
	return nil
}
