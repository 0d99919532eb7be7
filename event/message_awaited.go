package event

// KindMessageAwaited is the recorded name of [MessageAwaited].
const KindMessageAwaited Kind = "MESSAGE_AWAITED"

// MessageAwaited says that the body waits for a message of a name.
type MessageAwaited struct {
	Op       string // identity of the operation: its path
	Name     string // name of the message
	Deadline Time   // when the wait gives up; 0 for never
}

// Kind implements [Payload].
func (MessageAwaited) Kind() Kind { return KindMessageAwaited }

func (p MessageAwaited) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.str("name", p.Name)
	w.numIf("deadline", int64(p.Deadline))
	return w.end()
}

func (p *MessageAwaited) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "name":
		return readString(raw, &p.Name)
	case "deadline":
		return readInt(raw, &p.Deadline)
	}
	return nil
}

func (p *MessageAwaited) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Name == "" {
		return missing("name")
	}
	return nil
}
