package view

import (
	"encoding/json"

	"github.com/loomwork/loom/event"
)

// Event is one event of a log.
type Event struct {
	ID        string          `json:"id"`
	Execution string          `json:"execution"`
	Sequence  int64           `json:"sequence"`
	Kind      string          `json:"kind"`
	Time      instant         `json:"time"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	// PayloadBytes stands instead of Payload where that is no JSON.
	PayloadBytes []byte            `json:"payloadBase64,omitempty"`
	Meta         map[string]string `json:"meta,omitempty"`
}

// EventOf returns the view of an envelope. Metadata that does not decode is left out.
func EventOf(e event.Envelope) Event {
	v := Event{ID: e.ID(), Execution: string(e.Execution), Sequence: int64(e.Sequence), Kind: string(e.Kind), Time: atEvent(e.Time)}
	if json.Valid(e.Payload) {
		v.Payload = e.Payload
	} else {
		v.PayloadBytes = e.Payload
	}
	v.Meta, _ = event.DecodeMeta(e.Meta)
	return v
}
