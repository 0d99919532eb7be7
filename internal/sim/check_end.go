package sim

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
)

// checkEnd is what holds once all is quiet: oracle O19, everything has ended and
// nobody owns anything; oracle O3, the rows say what the logs fold to; that nothing is
// taken back of what has completed, which is of oracle O5; and no message that was taken is lost: it is in the log, or in the inbox still.
func (c *Cluster) checkEnd(lives []*life, vs *violations) {
	owned := map[store.NodeID]bool{}
	for _, h := range c.heads() {
		id := h.Execution
		if h.Strikes >= store.MaxStrikes {
			continue
		}
		if !h.State.Terminal() {
			vs.add("O19", id, "it has not ended: %v, owner %q", h.State, h.Owner)
		}
		if h.Owner != "" {
			owned[h.Owner] = true
			vs.add("O19", id, "%s owns it in the end", h.Owner)
		}
		log := c.log(id)
		s, err := fold.Log(log)
		again, _ := fold.Log(log)
		switch {
		case err != nil:
			vs.add("O3", id, "its log does not fold: %v", err)
			continue
		case !reflect.DeepEqual(s, again):
			vs.add("O3", id, "its log folds to two states")
		case s.Head != h.Tip.Head || s.Status.Terminal() != h.State.Terminal():
			vs.add("O3", id, "the row says %v at %d, the log %v at %d", h.State, h.Tip.Head, s.Status, s.Head)
		case !showsAlike(h.Published, s.Published):
			vs.add("O3", id, "the row shows %q, the log folds to %q", h.Published, s.Published)
		}
		for i := range s.Ops {
			if path := s.Ops[i].Path; s.Status == fold.Completed && strings.HasPrefix(path, event.FinalPath+"/undo-") {
				vs.add("O5", id, "it has completed, and %s took something back", path)
			}
		}
		c.checkKept(id, s, vs)
	}
}

// showsAlike compares what a row shows with what its log folds to.
func showsAlike(row map[string]string, log map[string]json.RawMessage) bool {
	texts := map[string]string{}
	for key, raw := range log { // order does not matter: it goes into a map
		text := string(raw)
		if raw[0] == '"' && json.Unmarshal(raw, &text) != nil {
			return false
		}
		texts[key] = text
	}
	return maps.Equal(row, texts)
}

// checkKept asks for every message that the store took.
func (c *Cluster) checkKept(id event.ExecutionID, s *fold.State, vs *violations) {
	pending, received := map[string]bool{}, map[string]bool{}
	for _, e := range c.log(id) { // in every generation
		switch p, _ := e.Decode(); p := p.(type) {
		case event.MessageReceived:
			received[p.Message] = true
		case event.CancelRequested:
			received[p.Message] = true
		}
	}
	mail, _, err := c.Backend.Inbox.Pending(c.ctx(), id, 0, 1000)
	if err != nil {
		vs.add("O1", id, "inbox: %v", err)
	}
	for _, m := range mail {
		pending[m.ID] = true
	}
	for i := range c.History.Records {
		r := &c.History.Records[i]
		if r.Did != DidPost || r.Execution != id || r.Receipt.Delivery != store.Posted {
			continue
		}
		cancel := r.Message.Name == "loom.cancel" && s.Cancel != nil // one is enough
		over := r.Message.Name == "loom.terminate" && s.Status.Terminal()
		if m := r.Message.ID; !pending[m] && !received[m] && !cancel && !over {
			vs.add("O1", id, "message %s was taken, and is neither in the log nor in the inbox", m)
		}
	}
}

// Judge judges a cluster whose run is over.
func (c *Cluster) Judge() []Violation {
	lives := c.History.lives()
	vs := violations(Judge(Judgement{History: c.History, Ledger: c.Ledger, Runtimes: true,
		Minted:  func(id event.ExecutionID) bool { return id[0] != 'x' },
		Excused: func(call *Call) bool { return call.Distrusted || c.forced || c.hit[call.Execution] },
		End:     c.World.StoreNow()}))
	checkAnswers(&c.Book, c.History, lives, &vs)
	for _, m := range c.Members {
		checkHooks(m, lives, &vs)
	}
	c.checkEnd(lives, &vs)
	c.checkChildren(&vs)
	return vs
}
