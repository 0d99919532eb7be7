package fold

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/loomwork/loom/event"
)

// model makes random logs that a writer could have written. It keeps its own
// books of what is open, apart from the fold.
type model struct {
	rng      *rand.Rand
	log      []event.Envelope
	now      event.Time
	effects  map[string]int // open ones → failed attempts
	timers   []string
	awaits   []string // of which those with a deadline are in limited
	limited  map[string]bool
	fresh    int
	sent     int
	received string // not answered
	ended    bool
	stopped  bool // a cancel is in the log
}

// grow returns a random log of about n events.
func grow(seed uint64, n int) []event.Envelope {
	m := &model{rng: rand.New(rand.NewPCG(seed, 11)), now: 1000, effects: map[string]int{}, limited: map[string]bool{}}
	m.add(event.ExecutionStarted{Flow: "f", Input: json.RawMessage(`{"a":1}`), Seed: fmt.Sprint(seed)})
	for len(m.log) < n && !m.ended {
		m.step()
	}
	if m.ended && m.rng.IntN(2) == 0 {
		m.add(event.Unknown{Name: "FROM_THE_FUTURE", Raw: []byte("x")})
	}
	return m.log
}

func (m *model) add(p event.Payload) {
	m.now += event.Time(m.rng.IntN(3) * 100)
	m.log = append(m.log, event.New("order-42", event.Seq(len(m.log)), m.now, p, nil))
}

func (m *model) name(of string) string {
	m.fresh++
	if m.rng.IntN(4) == 0 {
		of = "branch#1/" + of
	}
	return fmt.Sprintf("%s#%d", of, m.fresh)
}

// pick takes one of the list, "" if it is empty.
func (m *model) pick(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[m.rng.IntN(len(list))]
}

func (m *model) openEffect() string {
	var all []string
	for _, e := range m.log { // in log order: a map's is not repeatable
		p, _ := e.Decode()
		op := ""
		switch p := p.(type) {
		case event.EffectScheduled:
			op = p.Op
		case event.EffectAttemptFailed:
			if p.Attempt == 1 {
				op = p.Op
			}
		}
		if _, open := m.effects[op]; open {
			all = append(all, op)
		}
	}
	return m.pick(all)
}

func (m *model) step() {
	fail := &event.Failure{Code: "c", Message: "m"}
	switch m.rng.IntN(15) {
	case 0, 1:
		if !m.stopped {
			op := m.name("effect")
			m.effects[op] = 0
			m.add(event.EffectScheduled{Op: op})
		}
	case 2:
		if !m.stopped {
			m.timers = append(m.timers, m.name("timer"))
			m.add(event.TimerScheduled{Op: m.timers[len(m.timers)-1], Deadline: m.now + 500})
		}
	case 3:
		if !m.stopped {
			op, due := m.name("await"), event.Time(0)
			if m.rng.IntN(2) == 0 {
				m.limited[op], due = true, m.now+700
			}
			m.awaits = append(m.awaits, op)
			m.add(event.MessageAwaited{Op: op, Name: "n", Deadline: due})
		}
	case 4, 5:
		if op := m.openEffect(); op != "" {
			delete(m.effects, op)
			m.add(event.EffectCompleted{Op: op, Result: json.RawMessage("1")})
		}
	case 6:
		if op := m.openEffect(); op != "" {
			delete(m.effects, op)
			m.add(event.EffectFailed{Op: op, Error: fail})
		}
	case 7:
		if op := m.openEffect(); op != "" {
			m.effects[op]++
			m.add(event.EffectAttemptFailed{Op: op, Attempt: m.effects[op], Error: fail, NotBefore: m.now + 100})
		}
	case 8:
		op := m.name("read") // read-only: no intent
		m.add(event.EffectCompleted{Op: op, Result: json.RawMessage("2")})
	case 9, 10:
		if op := m.pick(m.timers); op != "" {
			m.timers = without(m.timers, op)
			m.add(event.TimerFired{Op: op})
		} else if op := m.pick(m.awaits); op != "" && m.limited[op] {
			m.awaits = without(m.awaits, op)
			m.add(event.TimerFired{Op: op})
		}
	case 11:
		if op := m.pick(m.awaits); op != "" {
			m.awaits = without(m.awaits, op)
			m.sent++
			m.received = fmt.Sprintf("m-%d", m.sent)
			m.add(event.MessageReceived{Op: op, Name: "n", Message: m.received, Body: json.RawMessage("3")})
		}
		if m.received != "" && m.rng.IntN(2) == 0 {
			m.add(event.RequestAnswered{Request: m.received, Error: fail})
			m.received = ""
		}
	case 12:
		m.add(event.Unknown{Name: "FROM_THE_FUTURE", Raw: []byte("x")})
	case 13:
		values := []string{`"paid"`, "3", "null"}
		m.add(event.StateSet{Key: m.pick([]string{"stage", "round"}), Value: json.RawMessage(m.pick(values))})
	default:
		m.rare(fail)
	}
}

// rare adds a cancel or an end now and then.
func (m *model) rare(fail *event.Failure) {
	switch m.rng.IntN(12) {
	case 0, 1:
		m.sent++
		p := event.CancelRequested{Cause: "asked", Message: fmt.Sprintf("m-%d", m.sent)}
		if m.rng.IntN(2) == 0 {
			p = event.CancelRequested{Cause: "deadline"}
		}
		m.timers, m.awaits, m.stopped = nil, nil, true
		m.add(p)
	case 2:
		m.ended = true
		m.add([]event.Payload{event.ExecutionCompleted{Result: json.RawMessage("4")}, event.ExecutionFailed{Error: fail},
			event.ExecutionCancelled{Error: fail}}[m.rng.IntN(3)])
	}
}

func without(list []string, one string) (rest []string) {
	for _, x := range list {
		if x != one {
			rest = append(rest, x)
		}
	}
	return rest
}
