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

// takeMail reads new messages and records those that the body waits for. It reports
// whether a turn was made. A message that nobody awaits stays in the inbox.
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
	for x.deliverOne() {
		moved = true
		x.gather(false)
	}
	return moved
}

func (x *run) readMail() {
	x.mailAgain = 0
	for {
		ms, mail, err := x.rt.st.Inbox.Pending(x.rt.ctx, x.id, x.j.Seen(), mailPage)
		if err != nil {
			x.rt.log.Warn("loom: inbox not read", "execution", x.id, "err", err)
			x.mailAgain = x.rt.node.now().Add(mailRetry)
			x.mailKnown = max(x.mailKnown, x.j.Seen()+1) // there may be some: look again
			return
		}
		x.mail = append(x.mail, ms...)
		for _, m := range ms {
			x.j.Looked(m.N)
		}
		x.mailKnown = mail
		if len(ms) < mailPage {
			x.j.Looked(mail)
			return
		}
	}
}

// deliverOne records the first message that can be, and reports whether it made a
// turn. Repeats and cancels of a cancelled execution leave the inbox without one.
func (x *run) deliverOne() bool {
	if x.m.Ended() {
		return false
	}
	for i := 0; i < len(x.mail); {
		m, s := x.mail[i], x.m.State()
		await := x.m.Awaiting(m.Name)
		switch {
		case s.Consumed(m.ID) && !sabotage.On("consumed-forgotten"), m.Name == cancelMessage && s.Cancel != nil:
			x.drop(m)
			x.mail = slices.Delete(x.mail, i, i+1)
			continue
		case m.Name == childMessage:
			switch x.takeChild(m) {
			case childLater:
				i++
				continue
			case childStray:
				x.drop(m)
				x.mail = slices.Delete(x.mail, i, i+1)
				continue
			}
		case m.Name == terminateMessage:
			x.terminate(m)
		case m.Name == cancelMessage:
			var body cancelBody
			_ = json.Unmarshal(m.Body, &body) // a reason is for people; none is fine
			x.j.Consume(m.N, s.Head+1)
			x.m.Cancel(event.CancelRequested{Cause: kernel.CauseAsked, Message: m.ID, Reason: cut(body.Reason)})
		case await == nil:
			i++
			continue
		case !json.Valid(m.Body) || event.Depth(m.Body) > event.MaxDepth:
			x.rt.warn(x.id, &InputValidationError{What: "message " + m.Name, Err: errNotJSON})
			x.drop(m)
			x.mail = slices.Delete(x.mail, i, i+1)
			continue
		default:
			x.j.Consume(m.N, s.Head+1)
			x.m.Receive(await, m.ID, m.Body)
		}
		x.mail = slices.Delete(x.mail, i, i+1)
		return true
	}
	return false
}

// drop takes a message out of the inbox with the next commit, unrecorded.
func (x *run) drop(m store.Message) {
	x.j.Consume(m.N, event.None)
	x.urgent = true
}
