package event

// KindExecutionFailed is the recorded name of [ExecutionFailed].
const KindExecutionFailed Kind = "EXECUTION_FAILED"

// ExecutionFailed is the end of an execution whose body returned an error or
// panicked.
type ExecutionFailed struct {
	Error *Failure // why
}

// Kind implements [Payload].
func (ExecutionFailed) Kind() Kind { return KindExecutionFailed }

func (p ExecutionFailed) append(dst []byte) []byte {
	w := begin(dst)
	p.Error.append(&w, "error")
	return w.end()
}

func (p *ExecutionFailed) field(key string, raw []byte) error {
	switch key {
	case "error":
		return readFailure(raw, &p.Error)
	}
	return nil
}

func (p *ExecutionFailed) check() error {
	if p.Error == nil {
		return missing("error")
	}
	return nil
}
