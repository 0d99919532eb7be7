package sim

import "github.com/loomwork/loom/store"

// moves calls emit with every state that can come next; fault says that the move
// is one of the faults.
func (v variant) moves(s modelState, emit func(next modelState, fault bool)) {
	to := func(fault bool, change func(*modelState)) {
		next := s
		change(&next)
		if fault {
			next.faults--
		}
		next.tidy(v)
		emit(next, fault)
	}
	for i := range s.nodes {
		v.nodeMoves(&s, i, func(change func(*modelState)) { to(false, change) })
	}
	for k := range s.orphans {
		if s.orphans[k].act != none {
			to(false, func(n *modelState) { n.apply(v, &n.orphans[k]); n.orphans[k] = modelRequest{} })
		}
	}
	v.postMoves(&s, func(change func(*modelState)) { to(false, change) })
	if s.faults > 0 {
		for i := range s.nodes {
			v.faultMoves(&s, i, func(change func(*modelState)) { to(true, change) })
		}
		if s.post == received {
			to(true, func(n *modelState) { n.post = posting }) // lost, and sent again
		}
	}
}

func (v variant) nodeMoves(s *modelState, i int, to func(func(*modelState))) {
	n := &s.nodes[i]
	for life := range n.life {
		if n.haunted&(1<<life) != 0 {
			to(func(x *modelState) { x.nodes[i].haunted &^= 1 << life }) // the lease runs out
		}
	}
	if !n.up {
		to(func(x *modelState) {
			x.nodes[i] = modelNode{life: n.life + 1, up: true, lease: true, haunted: n.haunted}
		})
		return
	}
	me := identityOf(i, n.life)
	if !n.lease {
		to(func(x *modelState) { x.nodes[i].lease = true }) // renewed
	}
	if n.req.act != none {
		if n.req.answered {
			to(func(x *modelState) { x.reply(i) })
		} else {
			to(func(x *modelState) { x.apply(v, &x.nodes[i].req); x.nodes[i].req.answered = true })
		}
		return
	}
	send := func(q modelRequest) {
		q.by = me
		to(func(x *modelState) { q.nonce = x.freshNonce(); x.nodes[i].req = q })
	}
	switch {
	case n.run == idle && n.view == none:
		if a := v.claimable(s, me); a != none {
			to(func(x *modelState) {
				x.nodes[i].view = a
				x.nodes[i].viewTip = modelTip{s.row.head, s.row.fence, s.row.mark}
			})
		}
	case n.run == idle:
		q := modelRequest{act: n.view, expect: n.viewTip, by: me}
		to(func(x *modelState) {
			q.nonce = x.freshNonce()
			x.nodes[i].req = q
			x.nodes[i].view, x.nodes[i].viewTip = none, modelTip{}
		})
	case n.run == replays:
		to(func(x *modelState) { x.replay(i) })
	case n.holds != 0:
		send(modelRequest{act: record, expect: n.tip, seen: n.seen, consume: n.holds, event: !n.got})
	default:
		if s.row.mail > n.seen {
			to(func(x *modelState) { x.nodes[i].seen, x.nodes[i].holds = x.row.mail, x.row.pending })
		}
		if n.tip.head == 0 {
			send(modelRequest{act: step, expect: n.tip, seen: n.seen, event: true})
		}
		if !n.got {
			send(modelRequest{act: park, expect: n.tip, seen: n.seen})
		}
		send(modelRequest{act: finish, expect: n.tip, seen: n.seen, event: true})
	}
}

// claimable is what a node that looks at the row would claim.
func (v variant) claimable(s *modelState, me identity) act {
	r := &s.row
	switch {
	case r.ended:
		return none
	case r.owner == 0 && r.due:
		return claimUnowned
	case r.owner == me && !v.noReconcile:
		return claimMine
	case r.owner != 0 && r.owner != me && !s.alive(r.owner.id()):
		return claimLapsed
	}
	return none
}

func (v variant) postMoves(s *modelState, to func(func(*modelState))) {
	switch s.post {
	case posting:
		to(func(x *modelState) { x.post = received; x.deliver() })
	case received:
		to(func(x *modelState) { x.post = posted })
	}
}

func (v variant) faultMoves(s *modelState, i int, to func(func(*modelState))) {
	n := &s.nodes[i]
	if !n.up {
		return
	}
	to(func(x *modelState) { // crash
		m := &x.nodes[i]
		x.orphan(m.req)
		haunted := m.haunted
		if m.lease {
			haunted |= 1 << m.life
		}
		*m = modelNode{life: m.life, haunted: haunted}
	})
	if n.lease {
		to(func(x *modelState) { x.nodes[i].lease = false }) // it lapses, the node lives
	}
	if n.req.act != none && n.req.answered {
		to(func(x *modelState) { // the reply is lost, the same request sent again
			q := &x.nodes[i].req
			q.answered, q.ok, q.mail, q.tip = false, false, false, modelTip{}
		})
	}
	if n.req.act != none && !n.req.answered {
		to(func(x *modelState) { x.orphan(x.nodes[i].req) }) // sent again, the first copy is on its way
	}
	if n.run != idle || n.req.act != none {
		to(func(x *modelState) { // the local run ends: poison, divergence, a resolution given up
			m := &x.nodes[i]
			x.orphan(m.req)
			m.req = modelRequest{}
			m.stop()
		})
	}
}

// apply lets the store judge q, and notes the answer in it.
func (s *modelState) apply(v variant, q *modelRequest) {
	row, req := s.storeRow(), q.storeRequest()
	mail := row.Mail
	if v.blindPark && req.Release != nil || v.blindEnd && req.State.Terminal() {
		row.Mail = min(row.Mail, req.Seen) // what is not seen is not there
	}
	res, next := store.Judge(row, req, modelNow, s.alive)
	q.ok, q.mail = res.Outcome == store.Committed, res.Refusal == store.RefusedMail
	if next != nil {
		next.Mail = mail
		s.setRow(next)
		if q.consume != 0 && q.consume == s.row.pending {
			s.row.pending = 0
		}
		if q.act == record && q.event {
			s.row.got++
		}
	}
	if q.ok {
		q.tip = modelTip{int8(res.Tip.Head), int8(res.Tip.Fence), res.Tip.Mark[0]}
	}
}

// deliver puts the message into the inbox, unless it is there.
func (s *modelState) deliver() {
	if s.row.pending != 0 {
		return
	}
	if what, next := store.Deliver(s.storeRow(), modelNow); what == store.Posted {
		s.setRow(next)
		s.row.pending = s.row.mail
	}
}

// reply gives node i the answer to its request.
func (s *modelState) reply(i int) {
	n := &s.nodes[i]
	q := n.req
	n.req = modelRequest{}
	switch {
	case q.act <= claimMine:
		if q.ok {
			n.run, n.tip = replays, q.tip
		}
	case q.ok && (q.act == step || q.act == record):
		n.tip = q.tip
		if q.act == record {
			n.holds, n.got = 0, true
		}
	case q.mail: // it has to look again
	default: // parked, finished, superseded
		n.stop()
	}
}

// replay reads log and inbox as node i; it is not the owner any more if the log
// is not what it claimed.
func (s *modelState) replay(i int) {
	n := &s.nodes[i]
	if s.row.fence != n.tip.fence || s.row.head != n.tip.head || s.row.ended {
		n.stop()
		return
	}
	n.run, n.seen, n.holds, n.got = drives, s.row.mail, s.row.pending, s.row.got > 0
}

func (n *modelNode) stop() {
	n.run, n.tip, n.seen, n.holds, n.got = idle, modelTip{}, 0, 0, false
}

// orphan leaves a copy of q in the network, if it was not judged yet.
func (s *modelState) orphan(q modelRequest) {
	if q.act == none || q.answered {
		return
	}
	for k := range s.orphans {
		if s.orphans[k].act == none {
			s.orphans[k] = q
			return
		}
	}
	panic("sim: more copies than faults")
}

// tidy makes states that differ in nothing that matters the same: copies that
// can change nothing are dropped and nonces are numbered by where they stand.
func (s *modelState) tidy(v variant) {
	at := 0
	for _, q := range s.orphans {
		if q.act != none && q.expect.fence == s.row.fence && !s.row.ended {
			s.orphans[at] = q
			at++
		}
	}
	for ; at < len(s.orphans); at++ {
		s.orphans[at] = modelRequest{}
	}
	var names [32]uint8
	next := uint8(1)
	s.nonces(func(n *uint8) {
		switch {
		case *n == 0:
		case names[*n] == 0:
			names[*n] = next
			*n = next
			next++
		default:
			*n = names[*n]
		}
	})
	if v.noMark {
		s.marks(func(n *uint8) { *n = 0 })
	}
}

func (s *modelState) freshNonce() uint8 {
	top := uint8(0)
	s.nonces(func(n *uint8) { top = max(top, *n) })
	return top + 1
}

// marks visits what is compared with the row's mark; nonces that, and the nonces
// of requests.
func (s *modelState) marks(visit func(*uint8)) {
	visit(&s.row.mark)
	for i := range s.nodes {
		n := &s.nodes[i]
		visit(&n.tip.mark)
		visit(&n.viewTip.mark)
		visit(&n.req.expect.mark)
		visit(&n.req.tip.mark)
	}
	for k := range s.orphans {
		visit(&s.orphans[k].expect.mark)
	}
}

func (s *modelState) nonces(visit func(*uint8)) {
	s.marks(visit)
	for i := range s.nodes {
		visit(&s.nodes[i].req.nonce)
	}
	for k := range s.orphans {
		visit(&s.orphans[k].nonce)
	}
}
