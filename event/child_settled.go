package event

import "encoding/json"

// KindChildSettled is the recorded name of [ChildSettled].
const KindChildSettled Kind = "CHILD_SETTLED"

// ChildSettled says how a child ended, or that it could not be started.
type ChildSettled struct {
	Op      string          // identity of the operation: its path
	Message string          // id of the message that told, "" if the child was not started
	Status  string          // "completed", "failed", "cancelled", "terminated"; "refused" if it was not started
	Result  json.RawMessage // of a completed child
	Error   *Failure        // of every other
}

// ChildRefused is the status of a child that was not started.
const ChildRefused = "refused"

// Kind implements [Payload].
func (ChildSettled) Kind() Kind { return KindChildSettled }

func (p ChildSettled) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.strIf("message", p.Message)
	w.str("status", p.Status)
	w.rawIf("result", p.Result)
	p.Error.append(&w, "error")
	return w.end()
}

func (p *ChildSettled) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "message":
		return readString(raw, &p.Message)
	case "status":
		return readString(raw, &p.Status)
	case "result":
		return readRaw(raw, &p.Result)
	case "error":
		return readFailure(raw, &p.Error)
	}
	return nil
}

func (p *ChildSettled) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Status == "" {
		return missing("status")
	}
	return nil
}
