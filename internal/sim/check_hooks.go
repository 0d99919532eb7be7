package sim

import "github.com/loomwork/loom/event"

// checkHooks is oracle O13, claim H-13: on one node an execution's events are told
// in order and once, each durable one after it was told as an event, without gaps,
// and only if it is; what was told and did not become durable is named once.
func checkHooks(m *Member, lives []*life, vs *violations) {
	type place struct{ event, durable event.Seq }
	at := map[event.ExecutionID]*place{}
	for _, t := range m.told {
		p := at[t.Execution]
		if p == nil || t.What == "event" && p.event != t.Sequence-1 && p.event == p.durable {
			// the first this node tells, or it has the execution again
			p = &place{t.Sequence - 1, t.Sequence - 1}
			at[t.Execution] = p
		}
		switch t.What {
		case "event":
			if t.Sequence != p.event+1 {
				vs.add("O13", t.Execution, "%s told event %d after event %d", m.Node.name, t.Sequence, p.event)
			}
			p.event = t.Sequence
		case "durable":
			if t.Sequence != p.durable+1 || t.Sequence > p.event {
				vs.add("O13", t.Execution, "%s told %d as durable after %d, with events told up to %d", m.Node.name, t.Sequence, p.durable, p.event)
			}
			if !durableAt(lives, t) {
				vs.add("O13", t.Execution, "%s told %d as durable, and it is not", m.Node.name, t.Sequence)
			}
			p.durable = t.Sequence
		case "aborted":
			if t.Sequence != p.durable+1 || t.Sequence > p.event {
				vs.add("O13", t.Execution, "%s told that %d and on are lost after %d was durable, with events told up to %d", m.Node.name, t.Sequence, p.durable, p.event)
			}
			p.event = p.durable
		}
	}
	if m.Node.dead {
		return // it took to its grave what it had to tell
	}
	for _, t := range m.told {
		if p := at[t.Execution]; p.event != p.durable {
			vs.add("O13", t.Execution, "%s told events up to %d, of which %d and on neither became durable nor were said to be lost", m.Node.name, p.event, p.durable+1)
			p.event = p.durable
		}
	}
}

// durableAt reports whether the log had the event as it was told.
func durableAt(lives []*life, t Told) bool {
	for _, l := range lives {
		if l.id != t.Execution {
			continue
		}
		for _, e := range l.log {
			if e.Sequence == t.Sequence && e.pos < t.Pos {
				return true
			}
		}
	}
	return false
}
