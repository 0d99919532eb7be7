package sim

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// checkWriters is oracle O8 for each commit, whatever its events say: it expected
// the token, anchor and mark that the row had, and came from its owner or claimed;
// and claim H-08: what was committed and is sent again is known again.
func checkWriters(h *History, vs *violations) {
	type row struct {
		tip   store.Tip
		owner store.NodeID
	}
	rows := map[event.ExecutionID]row{}
	for i := range h.Records {
		r := &h.Records[i]
		was, exists := rows[r.Execution]
		switch {
		case r.Did == DidDelete:
			delete(rows, r.Execution)
			continue
		case r.Did != DidCommit:
			continue
		case exists && r.Request.Nonce == was.tip.Mark:
			if r.Result.Outcome == store.Refused || r.Result.Outcome == store.Committed && !r.Result.Again {
				vs.add("O8", r.Execution, "a request that was committed is sent again by %s and answered %v, %v", r.Node, r.Result.Outcome, r.Result.Refusal)
			}
		}
		if r.Result.Outcome != store.Committed || r.Result.Again {
			continue
		}
		q := r.Request
		if exists {
			switch {
			case q.Expect.Fence != was.tip.Fence:
				vs.add("O8", r.Execution, "%s wrote under token %d, the row stood at %d", r.Node, q.Expect.Fence, was.tip.Fence)
			case q.Expect.Anchor != was.tip.Anchor:
				vs.add("O8", r.Execution, "%s wrote to incarnation %q, this one is %q", r.Node, q.Expect.Anchor, was.tip.Anchor)
			case !q.Expect.Mark.IsZero() && q.Expect.Mark != was.tip.Mark:
				vs.add("O8", r.Execution, "%s wrote over a commit that it had not seen", r.Node)
			case q.Claim == nil && q.As != was.owner:
				vs.add("O8", r.Execution, "%s wrote as %q, %q owned it", r.Node, q.As, was.owner)
			case q.Claim != nil && r.Result.Tip.Fence != was.tip.Fence+1, q.Claim == nil && r.Result.Tip.Fence != was.tip.Fence:
				vs.add("O8", r.Execution, "%s moved the token from %d to %d", r.Node, was.tip.Fence, r.Result.Tip.Fence)
			}
		}
		rows[r.Execution] = row{r.Result.Tip, r.Result.Owner}
	}
}

// checkResends is claim H-08 from the other side: a runner whose commit landed sends
// nothing else for its place, whatever it was told.
func checkResends(h *History, vs *violations) {
	type place struct {
		id     event.ExecutionID
		node   string
		as     store.NodeID
		expect store.Tip
	}
	landed := map[place]store.Nonce{}
	for i := range h.Records {
		r := &h.Records[i]
		q := r.Request
		if r.Did != DidCommit || q.Claim != nil || q.As == "" {
			continue
		}
		p := place{r.Execution, r.Node, q.As, q.Expect}
		if n, ok := landed[p]; ok && n != q.Nonce {
			vs.add("O8", r.Execution, "%s sends another request for the place where one of its own has landed", r.Node)
		}
		if r.Result.Outcome == store.Committed {
			landed[p] = q.Nonce
		}
	}
}

// checkStates is oracle O3 for each commit: the row is told of an end by the commit
// that holds it, and by no other.
func checkStates(h *History, vs *violations) {
	for i := range h.Records {
		r := &h.Records[i]
		if r.Did != DidCommit || r.Result.Outcome != store.Committed {
			continue
		}
		ended := false
		for k := range r.Request.Events {
			switch r.Request.Events[k].Kind {
			case event.KindExecutionCompleted, event.KindExecutionFailed, event.KindExecutionCancelled, event.KindExecutionTerminated:
				ended = true
			}
		}
		if ended != r.Request.State.Terminal() {
			vs.add("O3", r.Execution, "%s commits an end in the log: %v, in the row: %v", r.Node, ended, r.Request.State)
		}
	}
}
