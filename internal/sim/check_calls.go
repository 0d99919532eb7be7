package sim

import (
	"bytes"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// attempt is one attempt of a step in a log: its intent, and what settled it.
type attempt struct {
	op     string
	n      int
	intent int // place of the intent's commit
	args   []byte
	end    int // place of the commit that settles it, -1 for none
	result []byte
	failed bool
}

// attempts reads a log for the attempts of its steps.
func (l *life) attempts() (list []*attempt, byOp map[string][]*attempt) {
	byOp = map[string][]*attempt{}
	begin := func(op string, pos int, args []byte) {
		a := &attempt{op: op, n: len(byOp[op]) + 1, intent: pos, args: args, end: -1}
		list, byOp[op] = append(list, a), append(byOp[op], a)
	}
	settle := func(op string, pos int, result []byte, failed bool) *attempt {
		as := byOp[op]
		if len(as) == 0 {
			return nil // read-only: it has no intent
		}
		a := as[len(as)-1]
		a.end, a.result, a.failed = pos, result, failed
		return a
	}
	for _, e := range l.log {
		p, err := e.Decode()
		if err != nil {
			continue // O2 has it
		}
		switch p := p.(type) {
		case event.EffectScheduled:
			begin(p.Op, e.pos, p.Args)
		case event.EffectAttemptFailed:
			if a := settle(p.Op, e.pos, nil, true); a != nil {
				begin(p.Op, e.pos, a.args)
			}
		case event.EffectCompleted:
			settle(p.Op, e.pos, p.Result, false)
		case event.EffectFailed:
			settle(p.Op, e.pos, nil, true)
		}
	}
	return list, byOp
}

// checkCalls is oracle O5, an attempt is called at most 1 + k times, k being the
// changes of owner while its result was not durable, and once if there were none;
// oracle O7, each call has a durable intent with the same input; and oracle O9, a
// token calls each of its intents once at most, and none after it is lost.
func checkCalls(j Judgement, lives []*life, vs *violations) {
	type under struct {
		a     *attempt
		fence store.Fence
	}
	calls := map[*attempt]int{}
	tokens := map[under]int{}
	steps := map[*life]map[string][]*attempt{}
	lists := map[*life][]*attempt{}
	for _, l := range lives {
		lists[l], steps[l] = l.attempts()
	}
	for _, c := range j.Ledger.Calls {
		if c.ReadOnly {
			continue
		}
		l := livesAt(lives, c.Execution, c.Pos)
		if l == nil {
			vs.add("O7", c.Execution, "%s was called on %s, and the execution never existed", c.Op, c.Node)
			continue
		}
		a := intentOf(c, steps[l][c.Op])
		if a == nil {
			vs.add("O7", c.Execution, "%s, attempt %d, was called on %s without a durable intent", c.Op, c.Attempt, c.Node)
			continue
		}
		if c.Input != nil && !bytes.Equal(c.Input, a.args) {
			vs.add("O7", c.Execution, "%s was called with %s, its intent says %s", c.Op, c.Input, a.args)
		}
		calls[a]++
		g, ok := l.granted(c.Node, c.Pos)
		if !ok {
			vs.add("O9", c.Execution, "%s was called on %s, which never owned it until then", c.Op, c.Node)
			continue
		}
		if at := l.cancelled(); at >= 0 && at < g.pos && !event.Final(c.Op) {
			vs.add("O7", c.Execution, "%s was called on %s, which got it when its cancel was recorded already", c.Op, c.Node)
		}
		now := l.owner(c.Pos)
		lost := now.node != c.Node || now.fence != g.fence
		if lost && a.intent >= lostAt(l, g) {
			vs.add("O9", c.Execution, "%s was called on %s under token %d, which it had lost before the intent", c.Op, c.Node, g.fence)
		}
		if lost && (j.Excused == nil || !j.Excused(c)) {
			vs.add("O9", c.Execution, "%s was called on %s under token %d, while %q owned it under %d", c.Op, c.Node, g.fence, now.node, now.fence)
		}
		if tokens[under{a, g.fence}]++; tokens[under{a, g.fence}] == 2 {
			vs.add("O9", c.Execution, "%s, attempt %d, was called twice under token %d", c.Op, a.n, g.fence)
		}
	}
	checkKinds(j, lives, vs)
	for _, l := range lives {
		for _, a := range lists[l] {
			end := a.end
			if end < 0 {
				end = j.History.Pos()
			}
			k := l.changes(a.intent, end)
			if n := calls[a]; n > 1+k {
				vs.add("O5", l.id, "%s, attempt %d, was called %d times with %d changes of owner", a.op, a.n, n, k)
			} else if n == 0 && a.end >= 0 && !a.failed {
				vs.add("O5", l.id, "%s has a result and was never called", a.op)
			}
		}
	}
}

// checkKinds is what oracle O5 says of steps with a promise of their own: one that may
// be called once is; one that is verified first takes effect once.
func checkKinds(j Judgement, lives []*life, vs *violations) {
	type step struct {
		l  *life
		op string
	}
	called, done := map[step]int{}, map[step]int{}
	for _, c := range j.Ledger.Calls {
		s := step{livesAt(lives, c.Execution, c.Pos), c.Op}
		if called[s]++; c.Once && called[s] == 2 {
			vs.add("O5", c.Execution, "%s, which may be called once, was called again on %s", c.Op, c.Node)
		}
		if c.Asks && c.Result != nil && !c.Distrusted {
			if done[s]++; done[s] == 2 {
				vs.add("O5", c.Execution, "%s, which is verified first, was called again on %s and took effect twice", c.Op, c.Node)
			}
		}
	}
}

// cancelled is the place at which a cancel was recorded, -1 if none was. Who comes
// after it calls nothing (race 35).
func (l *life) cancelled() int {
	for _, e := range l.log {
		if e.Kind == event.KindCancelRequested {
			return e.pos
		}
	}
	return -1
}

// intentOf is the attempt that c is a call of: the one it names, or the last one
// whose intent was durable.
func intentOf(c *Call, as []*attempt) *attempt {
	var last *attempt
	for _, a := range as {
		if a.intent < c.Pos && (c.Attempt == 0 || c.Attempt == a.n) {
			last = a
		}
	}
	return last
}

// lostAt is the place at which the token g was no longer the last.
func lostAt(l *life, g grant) int {
	for _, o := range l.owners {
		if o.pos > g.pos {
			return o.pos
		}
	}
	return int(^uint(0) >> 1)
}
