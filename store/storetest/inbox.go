package storetest

import (
	"bytes"
	"fmt"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// letter returns a post that a case does not care about.
func (p *probe) letter(to event.ExecutionID, id string) store.Post {
	p.note(to)
	return store.Post{To: to, Message: store.Message{ID: id, Name: "letter", Body: []byte(id)}}
}

// post puts a message into the inbox of an execution that takes it.
func (p *probe) post(to event.ExecutionID, id string) store.Receipt {
	rec := p.send(to, id)
	if rec.Delivery != store.Posted {
		p.fatalf("a post to %s: delivery %d, want posted", to, rec.Delivery)
	}
	return rec
}

func (p *probe) send(to event.ExecutionID, id string) store.Receipt {
	rec, err := p.s.Inbox.Post(p.ctx, to, p.letter(to, id).Message)
	if err != nil {
		p.fatalf("a post to %s: %v", to, err)
	}
	return rec
}

// pending returns all pending messages of id and the mail counter.
func (p *probe) pending(id event.ExecutionID) ([]store.Message, int64) {
	ms, mail, err := p.s.Inbox.Pending(p.ctx, id, 0, 10_000)
	if err != nil {
		p.fatalf("pending of %s: %v", id, err)
	}
	return ms, mail
}

func sameMessage(a, b store.Message) bool {
	return a.ID == b.ID && a.Name == b.Name && a.N == b.N && a.Posted == b.Posted && bytes.Equal(a.Body, b.Body)
}

func inboxCases() []Case {
	return needs(mailing,
		Case{Name: "inbox/repeat", Quote: "A message whose id is pending already is not put in again: Posted with Repeat.", run: func(p *probe) {
			p.node("n1")
			res := p.must(p.birthFor("i", "n1"))
			p.post("i", "a")
			first := p.post("i", "b")
			before := p.see("i")
			if rec := p.post("i", "b"); !rec.Repeat || rec.N != first.N {
				p.failf("the repeat: number %d, repeat %v; the first had number %d", rec.N, rec.Repeat, first.N)
			}
			p.unchanged(before, "a message whose id is pending")
			req := p.step("i", res)
			req.Post = []store.Post{p.letter("i", "a"), p.letter("i", "c"), p.letter("i", "c")}
			p.must(req)
			if ms, mail := p.pending("i"); len(ms) != 3 || mail != 3 {
				p.failf("%d messages are pending, the counter is %d; want 3 and 3", len(ms), mail)
			}
		}},
		Case{Name: "inbox/deliveries", Quote: "Post puts m into the inbox of an execution under the rules of mail in [Log.Commit].", run: func(p *probe) { // race 20
			p.node("n1")
			if rec := p.send("none", "a"); rec.Delivery != store.NoSuch {
				p.failf("to what does not exist: delivery %d", rec.Delivery)
			}
			p.must(p.end("ended", p.must(p.birthFor("ended", "n1"))))
			if rec := p.send("ended", "a"); rec.Delivery != store.Ended || rec.State != store.StateCompleted {
				p.failf("to what has ended: delivery %d, state %s", rec.Delivery, rec.State)
			}
			for _, s := range []store.State{store.StateForming, store.StateDeleting, store.StateMoving} {
				start := p.birth(event.ExecutionID(s.String()))
				start.State = s
				p.must(start)
				if rec := p.send(start.Execution, "a"); rec.Delivery != store.Blocked {
					p.failf("to what is %s: delivery %d", s, rec.Delivery)
				}
			}
		}},
		Case{Name: "inbox/pages", Quote: "Pending returns at most limit messages of an execution with numbers above after, by number, and the mail counter.", run: func(p *probe) {
			p.must(p.birth("i"))
			for i := range 25 {
				p.post("i", fmt.Sprintf("m%d", i))
			}
			var seen []int64
			for after := int64(0); ; {
				ms, mail, err := p.s.Inbox.Pending(p.ctx, "i", after, 10)
				if err != nil || mail != 25 || len(ms) > 10 {
					p.fatalf("a page after %d: %d messages, counter %d, error %v", after, len(ms), mail, err)
				}
				for _, m := range ms {
					seen, after = append(seen, m.N), m.N
				}
				if len(ms) < 10 {
					break
				}
			}
			for i, n := range seen {
				if n != int64(i)+1 {
					p.fatalf("the pages give %v", seen)
				}
			}
			if len(seen) != 25 {
				p.failf("the pages give %d messages, want 25", len(seen))
			}
		}},
		Case{Name: "inbox/absent", Quote: "Pending returns at most limit messages of an execution with numbers above after, by number, and the mail counter.", run: func(p *probe) {
			if ms, mail := p.pending("none"); len(ms) != 0 || mail != 0 {
				p.failf("what does not exist has %d messages, counter %d", len(ms), mail)
			}
		}},
		Case{Name: "inbox/bodies", Quote: "Message is a fact from outside for one execution.", run: func(p *probe) { // case 65
			p.must(p.birth("i"))
			for i, body := range oddBytes() {
				id := fmt.Sprintf("m%d", i)
				rec, err := p.s.Inbox.Post(p.ctx, "i", store.Message{ID: id, Name: "odd", Body: body})
				if err != nil || rec.Delivery != store.Posted {
					p.fatalf("body %d: delivery %d, error %v", i, rec.Delivery, err)
				}
			}
			ms, _ := p.pending("i")
			for i, body := range oddBytes() {
				if i >= len(ms) || !bytes.Equal(ms[i].Body, body) || (ms[i].Body == nil) != (body == nil) {
					p.failf("body %d of %d bytes did not come back", i, len(body))
				}
			}
		}},
	)
}
