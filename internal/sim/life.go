package sim

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// life is what a history says of one incarnation of an execution.
type life struct {
	id     event.ExecutionID
	anchor store.Anchor
	from   int // place of the commit that made it
	until  int // place of its deletion, -1 if it was not deleted
	log    []logged
	claims []grant // a start with an owner, and each claim, in order
	owners []grant // each change of who owns it; an empty node is nobody
	ended  bool
}

// logged is an event with its commit.
type logged struct {
	event.Envelope
	pos   int
	now   event.Time  // by the store's clock
	as    string      // the node that wrote it
	fence store.Fence // the token after the commit
	owned bool        // the writer claimed to be the owner, or claims
}

// grant is a token that a node got.
type grant struct {
	pos   int
	node  string
	fence store.Fence
}

// lives follows a history. They come in the order in which they began.
func (h *History) lives() []*life {
	var all []*life
	now := map[event.ExecutionID]*life{}
	for pos := range h.Records {
		r := &h.Records[pos]
		switch r.Did {
		case DidDelete:
			if l := now[r.Execution]; l != nil {
				l.until = pos
				delete(now, r.Execution)
			}
		case DidCommit:
			if r.Result.Outcome != store.Committed || r.Result.Again {
				continue
			}
			l := now[r.Execution]
			if l == nil || l.anchor != r.Result.Tip.Anchor {
				l = &life{id: r.Execution, anchor: r.Result.Tip.Anchor, from: pos, until: -1}
				now[r.Execution] = l
				all = append(all, l)
			}
			l.take(pos, r)
		}
	}
	return all
}

func (l *life) take(pos int, r *Record) {
	q, start := r.Request, !r.Request.Expect.Exists()
	for _, e := range q.Events {
		l.log = append(l.log, logged{e, pos, r.Result.Now, r.Node, r.Result.Tip.Fence, q.As != "" || q.Claim != nil})
	}
	if c := q.Claim; c != nil {
		node := r.Node
		if c.Owner == "" {
			node = ""
		}
		g := grant{pos, node, r.Result.Tip.Fence}
		l.claims = append(l.claims, g)
		l.owners = append(l.owners, g)
	} else if start {
		l.owners = append(l.owners, grant{pos, "", r.Result.Tip.Fence})
	}
	if r.Result.Owner == "" && len(l.owners) > 0 && l.owners[len(l.owners)-1].node != "" {
		l.owners = append(l.owners, grant{pos, "", r.Result.Tip.Fence})
	}
	l.ended = l.ended || r.Result.State.Terminal()
}

// owner is who owned it at a place.
func (l *life) owner(pos int) grant {
	var g grant
	for _, o := range l.owners {
		if o.pos >= pos {
			break
		}
		g = o
	}
	return g
}

// granted is the last token that a node had got before a place.
func (l *life) granted(node string, pos int) (g grant, ok bool) {
	for _, c := range l.claims {
		if c.pos < pos && c.node == node {
			g, ok = c, true
		}
	}
	return g, ok
}

// changes counts the claims strictly between two places.
func (l *life) changes(after, before int) int {
	n := 0
	for _, c := range l.claims {
		if c.pos > after && c.pos < before {
			n++
		}
	}
	return n
}

// livesAt is the life of id at a place; a minted start may run before its first event
// is durable, so that the life that the node begins later counts too.
func livesAt(all []*life, id event.ExecutionID, pos int) *life {
	var later *life
	for _, l := range all {
		if l.id != id {
			continue
		}
		if l.from < pos && (l.until < 0 || l.until >= pos) {
			return l
		}
		if l.from >= pos && later == nil {
			later = l
		}
	}
	return later
}
