package kernel

import (
	"encoding/json"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// Publish shows a value under a key, or with JSON null takes the key back. It opens
// nothing and waits for nothing, and a cancel does not keep it from being recorded: it
// says what the body is at, also when that is to give way. full is true, and nothing is
// asked, if the key would be one more than most.
func (b *Branch) Publish(key string, value json.RawMessage, most int) (full bool, d Denial) {
	if d := b.Enter(); d != Allowed {
		return false, d
	}
	m, p := b.m, event.StateSet{Key: key, Value: value}
	switch {
	case p.Gone():
		delete(m.published, key)
	case m.published[key]:
	case len(m.published) >= most:
		return true, Allowed
	default:
		m.showKey(key)
	}
	m.ask(nil, p)
	return false, Allowed
}

// showKey notes that a key is shown.
func (m *Machine) showKey(key string) {
	if m.published == nil {
		m.published = map[string]bool{}
	}
	m.published[key] = true
}

// published returns what the events of one request show, in their order: it becomes
// searchable in the commit that makes them durable, and in no other.
func published(events []event.Envelope) (out []store.Publication) {
	for i := range events {
		e := &events[i]
		if e.Kind != event.KindStateSet {
			continue
		}
		payload, err := e.Decode()
		if err != nil {
			panic(fmt.Sprintf("kernel: the machine wrote what does not decode: %v", err))
		}
		p := payload.(event.StateSet)
		if p.Gone() {
			out = append(out, store.Publication{Key: p.Key, Gone: true})
		} else {
			out = append(out, store.Publication{Key: p.Key, Value: p.Text()})
		}
	}
	if sabotage.On("published-first") && len(out) > 1 {
		out = out[:1]
	}
	return out
}
