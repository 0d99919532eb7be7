package event

import "encoding/json"

// KindExecutionCompleted is the recorded name of [ExecutionCompleted].
const KindExecutionCompleted Kind = "EXECUTION_COMPLETED"

// ExecutionCompleted is the end of an execution whose body returned a value.
type ExecutionCompleted struct {
	Result json.RawMessage // as encoded once
}

// Kind implements [Payload].
func (ExecutionCompleted) Kind() Kind { return KindExecutionCompleted }

func (p ExecutionCompleted) append(dst []byte) []byte {
	w := begin(dst)
	w.raw("result", p.Result)
	return w.end()
}

func (p *ExecutionCompleted) field(key string, raw []byte) error {
	switch key {
	case "result":
		return readRaw(raw, &p.Result)
	}
	return nil
}

func (p *ExecutionCompleted) check() error {
	if p.Result == nil {
		return missing("result")
	}
	return nil
}
