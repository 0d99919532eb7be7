package sim

import (
	"bytes"

	"github.com/loomwork/loom/event"
)

// checkResults is oracle O6: a durable result is what some call returned, it is
// not worked out again by whoever owns the execution, and every body sees it.
func checkResults(j Judgement, lives []*life, vs *violations) {
	returned := map[*life]map[string][][]byte{}
	for _, c := range j.Ledger.Calls {
		l := livesAt(lives, c.Execution, c.Pos)
		if l == nil {
			continue
		}
		if returned[l] == nil {
			returned[l] = map[string][][]byte{}
		}
		if c.Returned >= 0 && c.Result != nil {
			returned[l][c.Op] = append(returned[l][c.Op], c.Result)
		}
		if c.ReadOnly {
			continue
		}
		if end := resultAt(l, c.Op); end >= 0 && end < c.Pos && l.owner(c.Pos).node == c.Node {
			vs.add("O6", c.Execution, "%s was called on %s although its result was durable", c.Op, c.Node)
		}
	}
	for _, l := range lives {
		for _, e := range l.log {
			p, err := e.Decode()
			if err != nil {
				continue
			}
			if done, ok := p.(event.EffectCompleted); ok && !contains(returned[l][done.Op], done.Result) {
				vs.add("O6", l.id, "%s is recorded as %s, which no call returned", done.Op, done.Result)
			}
		}
	}
	for _, s := range j.Ledger.Sights {
		l := livesAt(lives, s.Execution, s.Pos)
		if l == nil && j.Minted != nil && j.Minted(s.Execution) {
			continue // what a read-only step gave, before the start was durable
		}
		if l == nil {
			vs.add("O6", s.Execution, "a body saw a result of %s, and the execution never existed", s.Op)
			continue
		}
		// A body may go on from a result that is not durable yet; if that is lost, so
		// is the body, before it did anything with it.
		if end := resultAt(l, s.Op); end < 0 || end >= s.Pos || l.owner(s.Pos).node != s.Node {
			continue
		}
		if want := resultOf(l, s.Op); !bytes.Equal(want, s.Value) {
			vs.add("O6", s.Execution, "the body on %s saw %s of %s, the log says %s", s.Node, s.Value, s.Op, want)
		}
	}
}

func contains(list [][]byte, x []byte) bool {
	for _, y := range list {
		if bytes.Equal(x, y) {
			return true
		}
	}
	return false
}

// resultAt is the place of the commit that settled op, -1 for none.
func resultAt(l *life, op string) int {
	for _, e := range l.log {
		if settles(e.Envelope, op) {
			return e.pos
		}
	}
	return -1
}

// resultOf is what op settled with, nil for an error.
func resultOf(l *life, op string) []byte {
	for _, e := range l.log {
		if settles(e.Envelope, op) {
			p, _ := e.Decode()
			if done, ok := p.(event.EffectCompleted); ok {
				return done.Result
			}
			return nil
		}
	}
	return nil
}

func settles(e event.Envelope, op string) bool {
	if e.Kind != event.KindEffectCompleted && e.Kind != event.KindEffectFailed {
		return false
	}
	switch p, _ := e.Decode(); p := p.(type) {
	case event.EffectCompleted:
		return p.Op == op
	case event.EffectFailed:
		return p.Op == op
	}
	return false
}
