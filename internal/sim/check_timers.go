package sim

import "github.com/loomwork/loom/event"

// checkTimers is oracle O11: a timer fires once, never early by the store's
// clock, and never after its wait is over; in the end, each that was due has.
func checkTimers(j Judgement, lives []*life, vs *violations) {
	for _, l := range lives {
		due := map[string]event.Time{} // open waits with a deadline
		over := map[string]bool{}
		var order []string
		for _, e := range l.log {
			p, err := e.Decode()
			if err != nil {
				vs.add("O2", l.id, "event %d does not decode: %v", e.Sequence, err)
				continue
			}
			switch p := p.(type) {
			case event.TimerScheduled:
				due[p.Op] = p.Deadline
				order = append(order, p.Op)
			case event.MessageAwaited:
				if p.Deadline != 0 {
					due[p.Op] = p.Deadline
					order = append(order, p.Op)
				}
			case event.MessageReceived:
				if over[p.Op] {
					vs.add("O11", l.id, "%s got a message after its wait was over", p.Op)
				}
				over[p.Op] = true
			case event.TimerFired:
				at, scheduled := due[p.Op]
				switch {
				case !scheduled:
					vs.add("O11", l.id, "%s fired and was never set", p.Op)
				case over[p.Op]:
					vs.add("O11", l.id, "%s fired after its wait was over", p.Op)
				case e.now+j.Early < at:
					vs.add("O11", l.id, "%s fired %v early by the store's clock", p.Op, at.Sub(e.now))
				case e.Time+j.Early < at:
					vs.add("O11", l.id, "%s fired with a timestamp %v before its deadline", p.Op, at.Sub(e.Time))
				}
				over[p.Op] = true
			case event.CancelRequested:
				for op := range due { // order does not matter: each is looked at alone
					if !event.Final(op) { // what the body left to its end does not hear of it
						over[op] = true // open waits end with the cancel
						delete(due, op)
					}
				}
			}
		}
		if j.End == 0 || l.ended || l.until >= 0 {
			continue
		}
		for _, op := range order {
			if at, open := due[op]; open && !over[op] && at+j.Grace <= j.End {
				vs.add("O11", l.id, "%s was due %v before the end and has not fired", op, j.End.Sub(at))
			}
		}
	}
}
