package event

import "encoding/json"

// KindExecutionContinued is the recorded name of [ExecutionContinued].
const KindExecutionContinued Kind = "EXECUTION_CONTINUED"

// ExecutionContinued begins a new generation of an execution: its body is entered anew,
// with another input, and what the generation before had open is no longer waited for.
type ExecutionContinued struct {
	Generation int             // from 2: the first is what EXECUTION_STARTED began
	Input      json.RawMessage // of the flow's In
}

// Kind implements [Payload].
func (ExecutionContinued) Kind() Kind { return KindExecutionContinued }

func (p ExecutionContinued) append(dst []byte) []byte {
	w := begin(dst)
	w.num("generation", int64(p.Generation))
	w.raw("input", p.Input)
	return w.end()
}

func (p *ExecutionContinued) field(key string, raw []byte) error {
	switch key {
	case "generation":
		return readInt(raw, &p.Generation)
	case "input":
		return readRaw(raw, &p.Input)
	}
	return nil
}

func (p *ExecutionContinued) check() error {
	if p.Generation == 0 {
		return missing("generation")
	}
	if p.Input == nil {
		return missing("input")
	}
	return nil
}
