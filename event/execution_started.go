package event

import "encoding/json"

// KindExecutionStarted is the recorded name of [ExecutionStarted].
const KindExecutionStarted Kind = "EXECUTION_STARTED"

// ExecutionStarted is sequence 0: what was asked of which flow. It is the
// first inbound event.
type ExecutionStarted struct {
	Flow     string            // name of the flow
	Version  string            // version of the flow at start, "" for none
	Input    json.RawMessage   // the input, as encoded once
	Seed     string            // 64 bits in hexadecimal; source of Rand, NewID and idempotency keys
	Labels   map[string]string // what List can filter by
	Deadline Time              // when the execution is cancelled as overdue; 0 for never
}

// Kind implements [Payload].
func (ExecutionStarted) Kind() Kind { return KindExecutionStarted }

func (p ExecutionStarted) append(dst []byte) []byte {
	w := begin(dst)
	w.str("flow", p.Flow)
	w.strIf("version", p.Version)
	w.raw("input", p.Input)
	w.str("seed", p.Seed)
	w.rawIf("labels", EncodeMeta(p.Labels))
	w.numIf("deadline", int64(p.Deadline))
	return w.end()
}

func (p *ExecutionStarted) field(key string, raw []byte) error {
	switch key {
	case "flow":
		return readString(raw, &p.Flow)
	case "version":
		return readString(raw, &p.Version)
	case "input":
		return readRaw(raw, &p.Input)
	case "seed":
		return readString(raw, &p.Seed)
	case "labels":
		m, err := DecodeMeta(raw)
		p.Labels = m
		return err
	case "deadline":
		return readInt(raw, &p.Deadline)
	}
	return nil
}

func (p *ExecutionStarted) check() error {
	if p.Flow == "" {
		return missing("flow")
	}
	if p.Input == nil {
		return missing("input")
	}
	if p.Seed == "" {
		return missing("seed")
	}
	return nil
}
