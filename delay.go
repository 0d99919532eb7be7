package loom

import (
	"strconv"

	"github.com/loomwork/loom/event"
)

// notBefore returns when a delayed start that has not begun may begin, 0 for at once. A
// message has woken it before its time; it is looked at, because a cancel need not wait.
func (x *run) notBefore() event.Time {
	for _, r := range x.log[1:] {
		if r.Envelope.Kind.Role() != event.Passive { // an operator's note is no beginning
			return 0
		}
	}
	started, ok := x.log[0].Payload.(event.ExecutionStarted)
	at := firstWake(x.log[0].Envelope, started)
	if !ok || at == 0 {
		return 0
	}
	if x.j.Seen() < x.mailKnown {
		x.readMail()
	}
	for _, m := range x.box.control {
		if m.Name == cancelMessage {
			return 0
		}
	}
	return at
}

// firstWake returns when a delayed start is due, 0 for one that is not delayed: when it
// may begin, or at its deadline if that is earlier.
func firstWake(env event.Envelope, p event.ExecutionStarted) event.Time {
	meta, err := event.DecodeMeta(env.Meta)
	if err != nil {
		return 0
	}
	at, err := strconv.ParseInt(meta[event.MetaNotBefore], 10, 64)
	if err != nil {
		return 0
	}
	if p.Deadline != 0 {
		return min(event.Time(at), p.Deadline)
	}
	return event.Time(at)
}
