package sim

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// checkMail is claim H-36, seen from the log: a message is recorded once at most,
// and only if somebody posted it (oracle O2: nothing is made up).
func checkMail(h *History, lives []*life, vs *violations) {
	type letter struct {
		to event.ExecutionID
		id string
	}
	sent := map[letter]bool{}
	for i := range h.Records {
		r := &h.Records[i]
		switch {
		case r.Did == DidPost && r.Receipt.Delivery == store.Posted:
			sent[letter{r.Execution, r.Message.ID}] = true
		case r.Did == DidCommit && r.Result.Outcome == store.Committed:
			for _, p := range r.Request.Post {
				sent[letter{p.To, p.Message.ID}] = true
			}
		}
	}
	for _, l := range lives {
		seen := map[string]bool{}
		for _, e := range l.log {
			p, err := e.Decode()
			if err != nil {
				continue
			}
			id := ""
			switch p := p.(type) {
			case event.MessageReceived:
				id = p.Message
			case event.CancelRequested:
				id = p.Message
			case event.ChildSettled:
				id = p.Message
			case event.ExecutionTerminated:
				id = p.Message
			case event.ExecutionContinued:
				clear(seen) // a repeat is known to the generation that received the first
			}
			switch {
			case id == "":
			case seen[id]:
				vs.add("O2", l.id, "message %s is recorded twice", id)
			case !sent[letter{l.id, id}]:
				vs.add("O2", l.id, "message %s is recorded and was never posted", id)
			}
			seen[id] = true
		}
	}
}

// checkSeen holds what writers say to have seen of the mail against what they looked
// at: an end over mail that nobody looked at would lose it (race 6).
func checkSeen(h *History, vs *violations) {
	type reader struct {
		node string
		id   event.ExecutionID
	}
	looked := map[reader]int64{}
	for i := range h.Records {
		r := &h.Records[i]
		who := reader{r.Node, r.Execution}
		switch {
		case r.Did == DidCommit && r.Request.State == store.StateTerminated && r.Request.Claim != nil:
			// an end from outside leaves the mail where it is
		case r.Did == DidPending && r.Err == nil:
			looked[who] = max(looked[who], r.Looked)
		case r.Did == DidCommit && r.Result.Outcome == store.Committed && r.Request.Seen > looked[who]:
			vs.add("O1", r.Execution, "%s says that it has seen mail up to %d, and looked at %d", r.Node, r.Request.Seen, looked[who])
		case r.Did == DidCommit && r.Result.Outcome == store.Committed && !r.Result.Again && r.Request.State.Terminal() && r.Request.Seen < r.Result.Mail:
			vs.add("O1", r.Execution, "%s ended it over mail %d, and looked at %d", r.Node, r.Result.Mail, r.Request.Seen)
		}
	}
}
