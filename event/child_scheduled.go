package event

// KindChildScheduled is the recorded name of [ChildScheduled].
const KindChildScheduled Kind = "CHILD_SCHEDULED"

// ChildScheduled is the intent to start another execution as a child of this one. It
// is durable before the start is tried.
type ChildScheduled struct {
	Op        string      // identity of the operation: its path
	Execution ExecutionID // the child's id
	Flow      string      // the child's flow
	OnCancel  string      // what a cancel of the parent does to it: "" for cancel it too, "abandon" or "wait"
}

// What a cancel of the parent does to a child, as recorded in [ChildScheduled].
const (
	OnCancelAbandon = "abandon" // nothing, and the parent waits for it no longer
	OnCancelWait    = "wait"    // nothing, and the parent goes on waiting for it
)

// Kind implements [Payload].
func (ChildScheduled) Kind() Kind { return KindChildScheduled }

func (p ChildScheduled) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.str("execution", string(p.Execution))
	w.str("flow", p.Flow)
	w.strIf("onCancel", p.OnCancel)
	return w.end()
}

func (p *ChildScheduled) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "execution":
		return readString(raw, (*string)(&p.Execution))
	case "flow":
		return readString(raw, &p.Flow)
	case "onCancel":
		return readString(raw, &p.OnCancel)
	}
	return nil
}

func (p *ChildScheduled) check() error {
	switch "" {
	case p.Op:
		return missing("op")
	case string(p.Execution):
		return missing("execution")
	case p.Flow:
		return missing("flow")
	}
	return nil
}
