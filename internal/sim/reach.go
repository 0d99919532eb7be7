package sim

import (
	"slices"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Rare is a state of affairs that a campaign has to reach: the interesting faults are in
// the places that few runs come to.
type Rare struct {
	Name string
	// Often is in how many of 10,000 random stories it was reached, when that was
	// measured; 0 if random stories do not reach it, and a race does.
	Often int
	in    func(s *sight) bool
}

// sight is a run that is over, as the states are looked for.
type sight struct {
	c     *Cluster
	lives []*life
	tries map[*life][]*attempt
}

// Rares returns the list.
func Rares() []Rare {
	return []Rare{
		{"a start is refused, nothing is there, and it is sent again alone", 0, startedAlone},
		{"the answer to a start is lost", 759, startAgain},
		{"a start is known by its birth alone", 32, startByBirth},
		{"a takeover while an intent is open", 1569, takenOpen},
		{"a zombie is refused for its token", 1082, zombieRefused},
		{"a release over unseen mail wakes at once", 251, releasedOverMail},
		{"an end is refused for unseen mail", 278, endOverMail},
		{"reconcile claims what is the node's own", 274, claimedMine},
		{"a second takeover without progress", 127, struckTwice},
		{"a claim by a node whose lease has lapsed", 2303, claimLeaseless},
		{"a lease lapses between an intent and its call", 183, lapsedBeforeCall},
		{"a retry is called by another node than the attempt that failed", 1498, retriedElsewhere},
		{"a cancel is recorded while an effect is open", 768, cancelledOpen},
		{"a race of branches is lost while the loser's effect is open", 1223, lostOpen},
		{"a parked execution is woken by a message", 4778, wokenByMail},
		{"a node that closes hands an execution over", 620, handedOver},
		{"an effect is called by a node whose clocks stood still", 1445, calledFrozen},
		{"an event is stamped more than a lease behind the store's clock", 2468, stampedLate},
		{"a copy of a start lands after its client gave up", 18, startedLate},
		{"subscribers are told of what is lost", 905, toldLost},
	}
}

// reached looks for every state and returns, in the list's order, whether it was there.
func (c *Cluster) reached() []bool {
	s := newSight(c)
	var out []bool
	for _, r := range Rares() {
		out = append(out, r.in(s))
	}
	return out
}

func newSight(c *Cluster) *sight {
	s := &sight{c: c, lives: c.History.lives(), tries: map[*life][]*attempt{}}
	for _, l := range s.lives {
		s.tries[l], _ = l.attempts()
	}
	return s
}

// commit reports whether some request and its answer are such.
func (s *sight) commit(is func(q *store.Request, r *store.Result) bool) bool {
	return slices.ContainsFunc(s.c.History.Records, func(r Record) bool {
		return r.Did == DidCommit && is(r.Request, &r.Result)
	})
}

// event reports whether some event of some life is such.
func (s *sight) event(is func(l *life, at int) bool) bool {
	for _, l := range s.lives {
		for i := range l.log {
			if is(l, i) {
				return true
			}
		}
	}
	return false
}

// member is the one on a node, nil for the outside.
func (s *sight) member(node string) *Member {
	for _, m := range s.c.Members {
		if m.Node.name == node {
			return m
		}
	}
	return nil
}

func startedAlone(s *sight) bool {
	return s.commit(func(q *store.Request, r *store.Result) bool {
		return !q.Expect.Exists() && q.Alone && r.Outcome == store.Committed
	})
}

func startAgain(s *sight) bool {
	return s.commit(func(q *store.Request, r *store.Result) bool { return !q.Expect.Exists() && r.Again })
}

func startByBirth(s *sight) bool {
	return s.commit(func(q *store.Request, r *store.Result) bool {
		return !q.Expect.Exists() && r.Again && r.Tip.Mark != q.Nonce
	})
}

// open reports whether an attempt of a life is open at a place.
func (s *sight) open(l *life, pos int) bool {
	return slices.ContainsFunc(s.tries[l], func(a *attempt) bool { return a.intent < pos && (a.end < 0 || a.end > pos) })
}

func takenOpen(s *sight) bool {
	return slices.ContainsFunc(s.lives, func(l *life) bool {
		return slices.ContainsFunc(l.claims, func(g grant) bool {
			return l.owner(g.pos).node != "" && l.owner(g.pos).node != g.node && s.open(l, g.pos)
		})
	})
}

func zombieRefused(s *sight) bool {
	return s.commit(func(q *store.Request, r *store.Result) bool {
		return q.Claim == nil && q.As != "" && q.Expect.Exists() && r.Refusal == store.RefusedFence
	})
}

func releasedOverMail(s *sight) bool {
	return s.commit(func(q *store.Request, r *store.Result) bool {
		return q.Release != nil && r.Outcome == store.Committed && !r.Again && q.Seen < r.Mail && q.Release.WakeAt > r.Now
	})
}

func endOverMail(s *sight) bool {
	return s.commit(func(_ *store.Request, r *store.Result) bool { return r.Refusal == store.RefusedMail })
}

func claimedMine(s *sight) bool {
	return s.commit(func(q *store.Request, r *store.Result) bool {
		return q.Claim != nil && q.Claim.When == store.Mine && r.Outcome == store.Committed
	})
}

func claimLeaseless(s *sight) bool {
	return s.commit(func(q *store.Request, r *store.Result) bool { return q.Claim != nil && r.Refusal == store.RefusedLease })
}

// struckTwice: two takeovers of a lapsed owner with no event between them.
func struckTwice(s *sight) bool {
	strikes := map[event.ExecutionID]int{}
	return s.commit(func(q *store.Request, r *store.Result) bool {
		switch {
		case r.Outcome != store.Committed || r.Again:
		case q.Claim != nil && q.Claim.When == store.Lapsed:
			strikes[q.Execution]++
		case len(q.Events) > 0:
			strikes[q.Execution] = 0
		}
		return strikes[q.Execution] == 2
	})
}

// lapsedBeforeCall: a node that lived on wrote an intent, did not call it, and lost the
// execution.
func lapsedBeforeCall(s *sight) bool {
	for _, l := range s.lives {
		for _, a := range s.tries[l] {
			by := l.owner(a.intent + 1)
			m := s.member(by.node)
			lost := lostAt(l, by)
			if m == nil || !m.closed || lost >= s.c.History.Pos() || a.end >= 0 && a.end < lost || l.owner(lost+1).node == "" {
				continue
			}
			if !slices.ContainsFunc(s.c.Ledger.Calls, func(c *Call) bool {
				return c.Execution == l.id && c.Op == a.op && c.Attempt == a.n && c.Node == by.node
			}) {
				return true
			}
		}
	}
	return false
}

// retriedElsewhere: a node claims between an attempt's failure and the next one's call.
func retriedElsewhere(s *sight) bool {
	return slices.ContainsFunc(s.c.Ledger.Calls, func(c *Call) bool {
		l := livesAt(s.lives, c.Execution, c.Pos)
		if l == nil || c.Attempt < 2 {
			return false
		}
		for _, a := range s.tries[l] {
			if g, ok := l.granted(c.Node, c.Pos); ok && a.op == c.Op && a.n == c.Attempt {
				return g.pos > a.intent && l.owner(g.pos).node != c.Node
			}
		}
		return false
	})
}

func cancelledOpen(s *sight) bool {
	return slices.ContainsFunc(s.lives, func(l *life) bool { return l.cancelled() >= 0 && s.open(l, l.cancelled()) })
}

func lostOpen(s *sight) bool { return s.c.lostOpen > 0 }

// wokenByMail: nobody owned it, a node claims it, and the next event is a message.
func wokenByMail(s *sight) bool {
	return s.event(func(l *life, at int) bool {
		if e := l.log[at]; at > 0 && e.Kind == event.KindMessageReceived {
			for _, g := range l.claims {
				if g.pos > l.log[at-1].pos && g.pos <= e.pos && g.pos > l.from && l.owner(g.pos).node == "" {
					return true
				}
			}
		}
		return false
	})
}

// handedOver: a node that is closing lets go of an execution, to be woken at once, and
// another one claims it.
func handedOver(s *sight) bool {
	for pos := range s.c.History.Records {
		r := &s.c.History.Records[pos]
		if r.Did != DidCommit || r.Result.Outcome != store.Committed || r.Request.Release == nil || r.Request.Release.WakeAt > r.Result.Now {
			continue
		}
		m, l := s.member(r.Node), livesAt(s.lives, r.Execution, pos+1)
		if m == nil || l == nil || !m.closing || pos < m.closedFrom {
			continue
		}
		if slices.ContainsFunc(l.claims, func(g grant) bool { return g.pos > pos && g.node != r.Node }) {
			return true
		}
	}
	return false
}

func calledFrozen(s *sight) bool {
	return slices.ContainsFunc(s.c.Ledger.Calls, func(c *Call) bool { return c.Distrusted })
}

func stampedLate(s *sight) bool {
	behind := event.Time(s.c.Config.Lease / time.Microsecond)
	return s.event(func(l *life, at int) bool { e := l.log[at]; return e.now-e.Time > behind })
}

// startedLate: the answer to a start was that its client waits no longer, and the log
// begins with it after that.
func startedLate(s *sight) bool {
	return slices.ContainsFunc(s.c.Book.Starts, func(b *Start) bool {
		return b.Chosen && b.Answered && b.Err != nil && slices.ContainsFunc(s.lives, func(l *life) bool {
			return l.id == b.Execution && len(l.log) > 0 && startedBy(l) == b.Number && l.from >= b.Pos
		})
	})
}

func toldLost(s *sight) bool {
	return slices.ContainsFunc(s.c.Members, func(m *Member) bool {
		return slices.ContainsFunc(m.told, func(t Told) bool { return t.What == "aborted" })
	})
}
