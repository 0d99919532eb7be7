package kernel

import (
	"encoding/json"

	"github.com/loomwork/loom/event"
)

// Answer records what the body answers to the message whose id is request: result, or f if
// it failed. A branch that was asked to give way answers all the same.
func (b *Branch) Answer(request string, result json.RawMessage, f *event.Failure) Denial {
	if d := b.Enter(); d != Allowed {
		return d
	}
	b.m.ask(nil, event.RequestAnswered{Request: request, Result: result, Error: f})
	return Allowed
}

// sameAnswer compares a recorded answer with an asked one: what an error says may change
// between builds, that it is one may not.
func sameAnswer(r, a event.RequestAnswered) bool {
	return r.Request == a.Request && (r.Error == nil) == (a.Error == nil) && (r.Error != nil || string(r.Result) == string(a.Result))
}
