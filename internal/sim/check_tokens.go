package sim

import (
	"strconv"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// checkTokens is oracle O8: tokens begin at 0 with each incarnation and grow by
// one with each claim, and nothing is written under a token after a higher one
// was given.
func checkTokens(lives []*life, vs *violations) {
	for _, l := range lives {
		last := store.NoFence
		for _, c := range l.claims {
			if c.fence <= last {
				vs.add("O8", l.id, "token %d given after token %d", c.fence, last)
			}
			last = c.fence
		}
		was := int64(0)
		for _, e := range l.log {
			under, ok := metaFence(e.Envelope)
			if !ok {
				vs.add("O8", l.id, "event %d has metadata that does not decode", e.Sequence)
				continue
			}
			if under == 0 && !e.owned {
				continue // nobody's event carries no token
			}
			if under < was || under != int64(e.fence) {
				vs.add("O8", l.id, "event %d carries token %d, the row stood at %d, an event before at %d", e.Sequence, under, e.fence, was)
			}
			was = under
		}
	}
}

func metaFence(e event.Envelope) (int64, bool) {
	m, err := event.DecodeMeta(e.Meta)
	if err != nil {
		return 0, false
	}
	text, ok := m[event.MetaFence]
	if !ok {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
