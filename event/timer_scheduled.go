package event

// KindTimerScheduled is the recorded name of [TimerScheduled].
const KindTimerScheduled Kind = "TIMER_SCHEDULED"

// TimerScheduled is a deadline that the body waits for.
type TimerScheduled struct {
	Op       string // identity of the operation: its path
	Deadline Time   // due at or after this instant by the store's clock
}

// Kind implements [Payload].
func (TimerScheduled) Kind() Kind { return KindTimerScheduled }

func (p TimerScheduled) append(dst []byte) []byte {
	w := begin(dst)
	w.str("op", p.Op)
	w.num("deadline", int64(p.Deadline))
	return w.end()
}

func (p *TimerScheduled) field(key string, raw []byte) error {
	switch key {
	case "op":
		return readString(raw, &p.Op)
	case "deadline":
		return readInt(raw, &p.Deadline)
	}
	return nil
}

func (p *TimerScheduled) check() error {
	if p.Op == "" {
		return missing("op")
	}
	if p.Deadline == 0 {
		return missing("deadline")
	}
	return nil
}
