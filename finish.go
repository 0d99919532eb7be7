package loom

import (
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

var stateOf = map[fold.Status]store.State{
	fold.Completed: store.StateCompleted, fold.Failed: store.StateFailed, fold.Cancelled: store.StateCancelled,
	fold.Terminated: store.StateTerminated,
}

// finish commits the end. It is handed to nobody before it is durable. While mail
// waits that nobody looked at, the store refuses it: the mail is looked at, stays
// in the inbox, and the end is sent again.
func (x *run) finish() {
	for {
		if sabotage.On("end-looks-away") {
			x.j.Looked(1 << 40)
		}
		req, last := x.j.Next(x.rt.nonce(), nil, stateOf[x.m.State().Status])
		s := x.m.State()
		if last && !sabotage.On("child-end-untold") {
			req.Post = tellParent(x.parent, x.id, x.seed, &ending{status: s.Status, result: s.Result, failure: s.Failure})
		}
		a := x.transmit(req)
		if !x.settle(&a) && !sabotage.On("end-told-early") {
			return
		}
		if x.j.Dirty() || !last {
			if x.j.Seen() < x.mailKnown && !x.lookAtMail() {
				return
			}
			continue
		}
		break
	}
	if x.parent != nil {
		x.rt.hasMail(x.parent.Execution)
	}
	s := x.m.State()
	x.mu.Lock()
	x.mu.end = &ending{status: s.Status, result: s.Result, failure: s.Failure}
	x.mu.Unlock()
	if err := x.leftover(); err != nil {
		x.rt.warn(x.id, err)
	}
}

// lookAtMail reads what is in the inbox of an execution that has ended; false if the
// store does not answer.
func (x *run) lookAtMail() bool {
	for x.j.Seen() < x.mailKnown {
		ms, mail, err := x.rt.st.Inbox.Pending(x.rt.ctx, x.id, x.j.Seen(), mailPage)
		if err != nil {
			if _, held := x.rt.node.holds(); !held || x.rt.sleep(mailRetry) != nil {
				x.poison(&StorageWriteError{ID: x.id, Err: err, Definite: true})
				return false
			}
			continue
		}
		x.mailKnown = mail
		if len(ms) == 0 {
			x.j.Looked(mail)
		}
		for _, m := range ms {
			x.box.tally(&m)
			x.j.Looked(m.N)
		}
	}
	return true
}
