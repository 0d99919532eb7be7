package event

// KindCancelRequested is the recorded name of [CancelRequested].
const KindCancelRequested Kind = "CANCEL_REQUESTED"

// CancelRequested asks the body to stop. What it has open decides how, see
// loom.Cancel.
type CancelRequested struct {
	Cause   string // "asked" or "deadline"
	Message string // id of the message that asked, "" for a deadline
	Reason  string // for people
}

// Kind implements [Payload].
func (CancelRequested) Kind() Kind { return KindCancelRequested }

func (p CancelRequested) append(dst []byte) []byte {
	w := begin(dst)
	w.str("cause", p.Cause)
	w.strIf("message", p.Message)
	w.strIf("reason", p.Reason)
	return w.end()
}

func (p *CancelRequested) field(key string, raw []byte) error {
	switch key {
	case "cause":
		return readString(raw, &p.Cause)
	case "message":
		return readString(raw, &p.Message)
	case "reason":
		return readString(raw, &p.Reason)
	}
	return nil
}

func (p *CancelRequested) check() error {
	if p.Cause == "" {
		return missing("cause")
	}
	return nil
}
