package event

// KindTimerFired is the recorded name of [TimerFired].
const KindTimerFired Kind = "TIMER_FIRED"

// TimerFired says that a deadline passed: that of a timer, or of an await with
// a limit.
type TimerFired struct {
	Op string // identity of the operation: its path
}

// Kind implements [Payload].
func (TimerFired) Kind() Kind { return KindTimerFired }

func (p TimerFired) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	return w.end()
}

func (p *TimerFired) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	}
	return nil
}

func (p *TimerFired) check() error {
	if p.Op == "" {
		return missing("op")
	}
	return nil
}
