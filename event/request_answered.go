package event

import "encoding/json"

// KindRequestAnswered is the recorded name of [RequestAnswered].
const KindRequestAnswered Kind = "REQUEST_ANSWERED"

// RequestAnswered is what a body answers to a message that is a request.
type RequestAnswered struct {
	Request string          // id of the message
	Result  json.RawMessage // the answer, nil if there is none
	Error   *Failure        // why there is none
}

// Kind implements [Payload].
func (RequestAnswered) Kind() Kind { return KindRequestAnswered }

func (p RequestAnswered) append(dst []byte) []byte {
	w := begin(dst)
	w.str("request", p.Request)
	w.rawIf("result", p.Result)
	p.Error.append(&w, "error")
	return w.end()
}

func (p *RequestAnswered) field(key string, raw []byte) error {
	switch key {
	case "request":
		return readString(raw, &p.Request)
	case "result":
		return readRaw(raw, &p.Result)
	case "error":
		return readFailure(raw, &p.Error)
	}
	return nil
}

func (p *RequestAnswered) check() error {
	if p.Request == "" {
		return missing("request")
	}
	if p.Result == nil && p.Error == nil {
		return missing("result")
	}
	return nil
}
