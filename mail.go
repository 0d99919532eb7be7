package loom

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

const (
	mailPage  = 256
	mailRetry = 100 * time.Millisecond
	// cancelMessage is the name of the message that asks an execution to give way.
	cancelMessage = reserved + "cancel"
)

var errNotJSON = errors.New("its body is not JSON, or nested too deep")

// cancelBody is what a cancel message holds.
type cancelBody struct {
	Reason string `json:"reason,omitempty"`
}

// takeMail reads new messages and records those that the body waits for, as long as the
// store keeps up. It reports whether a turn was made. A message that nobody awaits stays
// in the inbox.
func (x *run) takeMail() (moved bool) {
	x.mu.Lock()
	nudged := x.mu.nudged
	x.mu.nudged = false
	x.mu.Unlock()
	if nudged || x.j.Seen() < x.mailKnown {
		if now := x.rt.node.now(); nudged || now >= x.mailAgain {
			x.readMail()
		}
	}
	for !x.behind() && x.deliverOne() {
		moved = true
		x.gather(false)
	}
	return moved
}

// behind reports whether the run has to commit before it goes on. It is then dirty, or a
// commit of it is in flight.
func (x *run) behind() bool {
	_, bytes := x.j.Backlog()
	return bytes >= maxRunBacklog
}

// readMail looks at all that has come since it was last called.
func (x *run) readMail() {
	x.mailAgain = 0
	for {
		ms, mail, err := x.page(x.j.Seen())
		if err != nil {
			x.mailKnown = max(x.mailKnown, x.j.Seen()+1) // there may be some: look again
			return
		}
		for _, m := range ms {
			if !controls(&m) && x.repeated(&m) {
				x.drop(m)
				x.box.reach(m.N, x.j.Seen())
			} else {
				x.box.look(m, x.j.Seen())
			}
			x.j.Looked(m.N)
		}
		x.mailKnown = mail
		if len(ms) < mailPage {
			x.box.reach(mail, x.j.Seen())
			x.j.Looked(mail)
			return
		}
	}
}

// repeated reports whether a message is in the log already.
func (x *run) repeated(m *store.Message) bool {
	return x.m.State().Consumed(m.ID) && !sabotage.On("consumed-forgotten")
}

// page reads a page of the inbox. After an error it is to be read again in a while.
func (x *run) page(after int64) ([]store.Message, int64, error) {
	ms, mail, err := x.rt.st.Inbox.Pending(x.rt.ctx, x.id, after, mailPage)
	if err != nil {
		x.rt.log.Warn("loom: inbox not read", "execution", x.id, "err", err)
		x.mailAgain = x.rt.node.now().Add(mailRetry)
	}
	return ms, mail, err
}

// fetch reads messages again that were looked at and not kept, if the body waits for any
// of them; false if the store does not answer.
func (x *run) fetch() bool {
	seen := x.j.Seen()
	if x.box.through >= seen {
		return true
	}
	if x.mailAgain != 0 && x.rt.node.now() < x.mailAgain {
		return false
	}
	if x.box.count < maxHeld/2 && x.box.bytes < maxHeldBytes/2 {
		ms, _, err := x.page(x.box.through)
		if err != nil {
			return false
		}
		x.box.refill(ms, len(ms) < mailPage, seen)
	}
	for op := range x.m.Awaits() {
		for {
			after, missing := x.box.unsearched(op.Name, seen)
			if !missing {
				break
			}
			ms, _, err := x.page(after)
			if err != nil {
				return false
			}
			x.box.search(op.Name, ms, len(ms) < mailPage, seen)
		}
	}
	x.mailAgain = 0
	return true
}

// deliverOne records the first message that can be, and reports whether it made a
// turn. Repeats, and what has become pointless, leave the inbox without one.
func (x *run) deliverOne() bool {
	if x.m.Ended() || x.betweenGenerations() || !x.fetch() {
		return false
	}
	for {
		op, m := x.awaited()
		if x.pausing != nil {
			m = nil
		}
		if x.deliverControl(m) {
			return true
		}
		if m == nil || x.pausing != nil {
			return false
		}
		letter := *m
		x.box.took(m.Name)
		switch {
		case x.repeated(&letter):
			x.drop(letter)
		case !json.Valid(letter.Body) || event.Depth(letter.Body) > event.MaxDepth:
			x.rt.warn(x.id, &InputValidationError{What: "message " + letter.Name, Err: errNotJSON})
			x.drop(letter)
		default:
			x.j.Consume(letter.N, x.m.State().Head+1)
			x.m.Receive(op, letter.ID, letter.Body)
			return true
		}
		if !x.fetch() {
			return false
		}
	}
}

// awaited returns the first message that an await is open for, and the await.
func (x *run) awaited() (op *kernel.Op, m *store.Message) {
	if x.box.count == 0 {
		return nil, nil
	}
	for o := range x.m.Awaits() {
		if c := x.box.first(o.Name); c != nil && (m == nil || c.N < m.N) {
			op, m = o, c
		}
	}
	return op, m
}

// deliverControl records the first message to the run itself that goes before m, and
// reports whether it made a turn. One that came behind more messages than are kept goes
// before all of them: a cancel does not wait for the rest of a flood.
func (x *run) deliverControl(m *store.Message) bool {
	for i := 0; i < len(x.box.control); {
		c, s := x.box.control[i], x.m.State()
		if m != nil && c.N > m.N && c.N <= x.box.through {
			return false // and so do those behind it
		}
		taken := false
		switch {
		case x.repeated(&c), c.Name == cancelMessage && s.Cancel != nil:
			x.drop(c)
		case c.Name == childMessage && x.pausing != nil:
			i++
			continue
		case c.Name == childMessage:
			switch x.takeChild(c) {
			case childLater:
				i++
				continue
			case childStray:
				x.drop(c)
			default:
				taken = true
			}
		case c.Name == terminateMessage:
			x.terminate(c)
			taken = true
		case c.Name == pauseMessage && x.pausing == nil:
			x.pausing = &c // it leaves the inbox with the pause
		case c.Name == pauseMessage:
			x.drop(c)
		default:
			var body cancelBody
			_ = json.Unmarshal(c.Body, &body) // a reason is for people; none is fine
			x.j.Consume(c.N, s.Head+1)
			x.m.Cancel(event.CancelRequested{Cause: kernel.CauseAsked, Message: c.ID, Reason: cut(body.Reason)})
			taken = true
		}
		x.box.control = slices.Delete(x.box.control, i, i+1)
		if taken {
			return true
		}
	}
	return false
}

// drop takes a message out of the inbox with the next commit, unrecorded.
func (x *run) drop(m store.Message) {
	x.j.Consume(m.N, event.None)
	x.urgent = true
}
