package event

// KindChildStarted is the recorded name of [ChildStarted].
const KindChildStarted Kind = "CHILD_STARTED"

// ChildStarted says that the child is durable, by this start of it or an earlier one.
type ChildStarted struct {
	Op string // identity of the operation: its path
}

// Kind implements [Payload].
func (ChildStarted) Kind() Kind { return KindChildStarted }

func (p ChildStarted) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	return w.end()
}

func (p *ChildStarted) field(key string, raw []byte) error {
	if key == "op" {
		return readString(raw, &p.Op)
	}
	return nil
}

func (p *ChildStarted) check() error {
	if p.Op == "" {
		return missing("op")
	}
	return nil
}
