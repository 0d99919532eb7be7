package event

// KindExecutionCancelled is the recorded name of [ExecutionCancelled].
const KindExecutionCancelled Kind = "EXECUTION_CANCELLED"

// ExecutionCancelled is the end of an execution that was asked to cancel and
// whose body gave way.
type ExecutionCancelled struct {
	Error *Failure // what the body returned
}

// Kind implements [Payload].
func (ExecutionCancelled) Kind() Kind { return KindExecutionCancelled }

func (p ExecutionCancelled) append(dst []byte) []byte {
	w := begin(dst)
	p.Error.append(&w, "error")
	return w.end()
}

func (p *ExecutionCancelled) field(key string, raw []byte) error {
	switch key {
	case "error":
		return readFailure(raw, &p.Error)
	}
	return nil
}

func (p *ExecutionCancelled) check() error {
	if p.Error == nil {
		return missing("error")
	}
	return nil
}
