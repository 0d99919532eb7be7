package storetest

import (
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// walk looks at the whole store after a case: logs gapless from 0, head rows and
// tips in agreement with them, mail numbered within its counter.
func (p *probe) walk() {
	if p.closed {
		return
	}
	ids := slices.Clone(p.ids)
	if p.s.Index != nil {
		for _, h := range p.list(store.Query{Limit: 1000}) {
			if !slices.Contains(ids, h.Execution) {
				ids = append(ids, h.Execution)
			}
		}
	}
	for _, id := range ids {
		p.walkLog(id)
	}
}

func (p *probe) walkLog(id event.ExecutionID) {
	v := p.see(id)
	for i, env := range v.log {
		if env.Sequence != event.Seq(i) || env.Execution != id {
			p.failf("walk: event %d of %s says that it is %s", i, id, env.ID())
			return
		}
	}
	if want := event.Seq(len(v.log)) - 1; v.tip.Head != want {
		p.failf("walk: the tip of %s has head %d, its log ends at %d", id, v.tip.Head, want)
	}
	if !v.tip.Exists() && v.tip != store.Absent() {
		p.failf("walk: %s does not exist, and its tip is %+v", id, v.tip)
	}
	if p.s.Index == nil {
		return
	}
	h := v.head
	switch {
	case v.ok != v.tip.Exists():
		p.failf("walk: %s has a head row: %v; its tip is %+v", id, v.ok, v.tip)
	case !v.ok:
	case h.Execution != id || h.Tip != v.tip:
		p.failf("walk: the head row of %s is of %q with the tip %+v, Tip says %+v", id, h.Execution, h.Tip, v.tip)
	case h.State.Terminal() && (h.Owner != "" || h.WakeAt != event.Never):
		p.failf("walk: %s is %s, and has the owner %q and the wake-up %d", id, h.State, h.Owner, h.WakeAt)
	case h.Seen > h.Mail:
		p.failf("walk: %s has seen %d of %d messages", id, h.Seen, h.Mail)
	case h.State == store.StateRunning && h.Owner == "" && h.Seen < h.Mail && h.WakeAt == event.Never:
		p.failf("walk: %s sleeps over unseen mail", id)
	}
	last := int64(0)
	for _, m := range v.mail {
		if m.N <= last || m.N > h.Mail {
			p.failf("walk: message %q of %s has number %d after %d, the counter is %d", m.ID, id, m.N, last, h.Mail)
		}
		last = m.N
	}
}
