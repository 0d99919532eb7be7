package event

import "encoding/json"

// KindMessageReceived is the recorded name of [MessageReceived].
const KindMessageReceived Kind = "MESSAGE_RECEIVED"

// MessageReceived delivers a message to the await that asked for it.
type MessageReceived struct {
	Op      string          // identity of the operation: its path
	Name    string          // name of the message
	Message string          // the sender's message id; a repeat of it is dropped
	Body    json.RawMessage // as encoded once
}

// Kind implements [Payload].
func (MessageReceived) Kind() Kind { return KindMessageReceived }

func (p MessageReceived) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.str("name", p.Name)
	w.str("message", p.Message)
	w.raw("body", p.Body)
	return w.end()
}

func (p *MessageReceived) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "name":
		return readString(raw, &p.Name)
	case "message":
		return readString(raw, &p.Message)
	case "body":
		return readRaw(raw, &p.Body)
	}
	return nil
}

func (p *MessageReceived) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Name == "" {
		return missing("name")
	}
	if p.Message == "" {
		return missing("message")
	}
	if p.Body == nil {
		return missing("body")
	}
	return nil
}
