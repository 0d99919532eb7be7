package storetest

import (
	"bytes"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	ruleMail = "Mail: each posted message MUST take the next number of the receiver's mail counter in the same transaction; if the " +
		"receiver is unowned and running, its wake-up MUST become now at the latest."
	ruleConsume = "Consumed numbers MUST be gone from the inbox."
	ruleDropped = "One to an execution that does not exist, or has ended, is dropped."
)

func mailCases() []Case {
	return needs(mailing, // claim H-36
		Case{Name: "mail/numbers", Quote: ruleMail, run: func(p *probe) {
			p.must(p.birth("m"))
			res := p.must(p.birth("poster"))
			for i := range int64(3) {
				if rec := p.post("m", string(rune('a'+i))); rec.N != i+1 {
					p.failf("message %d has number %d", i+1, rec.N)
				}
			}
			req := p.step("poster", res)
			req.Post = []store.Post{p.letter("m", "d"), p.letter("m", "e")}
			p.must(req)
			ms, mail := p.pending("m")
			if mail != 5 || len(ms) != 5 {
				p.fatalf("%d messages are pending, the counter is %d; want 5 and 5", len(ms), mail)
			}
			for i, m := range ms {
				if m.N != int64(i)+1 || m.ID != string(rune('a'+i)) {
					p.failf("message %d is %q with number %d", i+1, m.ID, m.N)
				}
			}
			if h := p.head("m"); h.Mail != 5 || h.Tip.Head != 0 {
				p.failf("the head row counts %d messages, head %d", h.Mail, h.Tip.Head)
			}
		}},
		Case{Name: "mail/leaves-the-tip", Quote: ruleMail, run: func(p *probe) { // race 14
			p.node("n1")
			res := p.must(p.birthFor("m", "n1"))
			before := p.tip("m")
			p.post("m", "a")
			if tip := p.tip("m"); tip != before {
				p.failf("a message moved the tip from %+v to %+v", before, tip)
			}
			if next := p.must(p.step("m", res)); next.Mail != 1 {
				p.failf("the runner's next answer counts %d messages, want 1", next.Mail)
			}
		}},
		Case{Name: "mail/wakes-the-parked", Quote: ruleMail, run: func(p *probe) { // case 47
			p.must(p.birth("m")) // asleep until a message comes
			p.wants()
			rec := p.post("m", "a")
			if h := p.head("m"); h.WakeAt > rec.Now {
				p.failf("wake-up %d after a message at %d", h.WakeAt, rec.Now)
			}
			p.wants("m")
		}},
		Case{Name: "mail/keeps-an-earlier-wake-up", Quote: ruleMail, run: func(p *probe) {
			req := p.birth("m")
			req.Release = &store.Release{WakeAt: 5}
			p.must(req)
			p.post("m", "a")
			if h := p.head("m"); h.WakeAt > 5 {
				p.failf("wake-up %d, it was 5 before the message", h.WakeAt)
			}
		}},
		Case{Name: "mail/leaves-the-owner", Quote: ruleMail, run: func(p *probe) {
			p.node("n1")
			p.must(p.birthFor("m", "n1"))
			if rec := p.post("m", "a"); rec.Owner != "n1" || rec.State != store.StateRunning {
				p.failf("the receipt shows owner %q, state %s", rec.Owner, rec.State)
			}
			if h := p.head("m"); h.Owner != "n1" {
				p.failf("the owner is %q", h.Owner)
			}
			p.wants()
		}},
		Case{Name: "mail/post-in-commit", Quote: "Post puts messages into other executions' inboxes in the same transaction.", run: postInCommit}, // race 18
		Case{Name: "mail/dropped", Quote: ruleDropped, run: func(p *probe) {
			p.node("n1")
			p.must(p.end("ended", p.must(p.birthFor("ended", "n1"))))
			req := p.step("m", p.must(p.birthFor("m", "n1")))
			req.Post = []store.Post{p.letter("none", "a"), p.letter("ended", "b"), p.letter("m", "c")}
			res := p.must(req)
			if _, mail := p.pending("ended"); mail != 0 {
				p.failf("an ended execution has %d messages", mail)
			}
			if _, mail := p.pending("none"); mail != 0 || p.tip("none").Exists() {
				p.failf("an execution that does not exist has %d messages", mail)
			}
			if ms, mail := p.pending("m"); len(ms) != 1 || mail != 1 || res.Mail != 1 {
				p.failf("a message to oneself: %d pending, counter %d, the answer says %d", len(ms), mail, res.Mail)
			}
		}},
		Case{Name: "mail/in-a-start", Quote: "Post puts messages into other executions' inboxes in the same transaction.", run: func(p *probe) { // case 47
			p.node("n1")
			req := p.birthFor("m", "n1")
			req.Post = []store.Post{p.letter("m", "a"), p.letter("m", "b"), p.letter("m", "a")}
			res := p.must(req)
			for range 2 { // the second time it is sent again, and posts nothing
				if ms, mail := p.pending("m"); res.Mail != 2 || mail != 2 || len(ms) != 2 || ms[0].ID != "a" || ms[1].N != 2 {
					p.fatalf("the execution was created with %+v, the counter is %d and the answer says %d", ms, mail, res.Mail)
				}
				res = p.again(req)
			}
			p.refused(p.end("m", store.Result{Tip: res.Tip, Owner: "n1"}), store.RefusedMail)
			parked := p.birth("parked")
			parked.Post = []store.Post{p.letter("parked", "a")}
			p.must(parked)
			p.wants("parked")
			other := p.birthFor("m", "n1")
			other.Nonce, other.Post = p.nonce(), []store.Post{p.letter("m", "c")}
			p.refused(other, store.RefusedHead)
			if _, mail := p.pending("m"); mail != 2 {
				p.failf("a refused start has posted: the counter is %d", mail)
			}
		}},
		Case{Name: "mail/consume", Quote: ruleConsume, run: consume}, // race 36
		Case{Name: "mail/none-asleep", Quote: step10, run: func(p *probe) { // race 6
			p.node("n1")
			res := p.must(p.birthFor("m", "n1"))
			p.post("m", "late")
			end := p.end("m", res)
			p.refused(end, store.RefusedMail)
			drain := p.step("m", res)
			drain.Seen, drain.Consume = 1, []int64{1}
			res = p.must(drain)
			p.post("m", "later")
			p.refused(p.end("m", store.Result{Tip: res.Tip, Owner: "n1", Mail: 1}), store.RefusedMail)
			end = p.end("m", store.Result{Tip: res.Tip, Owner: "n1", Mail: 2})
			end.Consume = []int64{2}
			p.must(end)
		}},
	)
}

func postInCommit(p *probe) {
	p.node("n1")
	p.must(p.birth("parent"))
	body := []byte{0, 0xff, 'x'}
	end := p.end("child", p.must(p.birthFor("child", "n1")))
	end.Post = []store.Post{{To: "parent", Message: store.Message{ID: "child/end", Name: "child", Body: body}}}
	res := p.must(end)
	ms, mail := p.pending("parent")
	if len(ms) != 1 || mail != 1 {
		p.fatalf("%d messages are pending, the counter is %d; want 1 and 1", len(ms), mail)
	}
	m := ms[0]
	if m.ID != "child/end" || m.Name != "child" || !bytes.Equal(m.Body, body) || m.N != 1 || m.Posted > res.Now || res.Now.Sub(m.Posted) > time.Minute {
		p.failf("the message is %+v, posted at %d", m, res.Now)
	}
	p.wants("parent")
}

func consume(p *probe) {
	p.node("n1")
	res := p.must(p.birthFor("m", "n1"))
	for _, id := range []string{"a", "b", "c", "d"} {
		p.post("m", id)
	}
	req := p.step("m", res)
	req.Seen, req.Consume = 4, []int64{2, 3, 99}
	res = p.must(req)
	ms, mail := p.pending("m")
	if mail != 4 || len(ms) != 2 || ms[0].N != 1 || ms[1].N != 4 {
		p.failf("after 2 and 3 were consumed: %+v, counter %d", ms, mail)
	}
	if rec := p.post("m", "b"); rec.N != 5 || rec.Repeat {
		p.failf("an id that is no longer pending: number %d, repeat %v", rec.N, rec.Repeat)
	}
	park := p.act("m", res) // as of before b came again
	park.Consume, park.Release = []int64{1, 4}, &store.Release{WakeAt: event.Never}
	p.must(park)
	if ms, _ = p.pending("m"); len(ms) != 1 || ms[0].N != 5 {
		p.failf("after 1 and 4 were consumed: %+v", ms)
	}
	p.wants("m") // 5 was not seen
}
