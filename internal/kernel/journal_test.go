package kernel

import (
	"bytes"
	"slices"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const (
	me   store.NodeID = "01NODEA"
	them store.NodeID = "01NODEB"
)

// landed is the answer of a store that took a request as it is.
func landed(req *store.Request) store.Result {
	tip := req.Expect
	tip.Head += event.Seq(len(req.Events))
	tip.Mark = req.Nonce
	if !req.Expect.Exists() {
		tip.Fence, tip.Anchor = 0, "17"
	}
	owner := req.As
	if req.Claim != nil {
		owner = req.Claim.Owner
	}
	if req.Release != nil || req.State.Terminal() {
		owner = ""
	}
	return store.Result{Outcome: store.Committed, Tip: tip, Owner: owner, State: req.State}
}

func refused(why store.Refusal, tip store.Tip) store.Result {
	return store.Result{Outcome: store.Refused, Refusal: why, Tip: tip, State: store.StateRunning}
}

func fact(seq event.Seq, size int) event.Envelope {
	return event.Envelope{Execution: rigID, Sequence: seq, Kind: "X", Payload: bytes.Repeat([]byte("x"), size)}
}

var (
	nonce  = store.Nonce{1}
	nonce2 = store.Nonce{2}
	tip9   = store.Tip{Head: 9, Fence: 3, Anchor: "17", Mark: store.Nonce{9}}
)

// owned returns a journal of a claimed execution at tip9, with n small events
// queued.
func owned(n int) *Journal {
	j := NewJournal(rigID, me, tip9)
	for i := range n {
		j.Enqueue(fact(10+event.Seq(i), 10))
	}
	return j
}

// TestNextMakesOneRequestOfAllThatGathered, bound to the tip as last seen.
func TestNextMakesOneRequestOfAllThatGathered(t *testing.T) {
	j := owned(2)
	j.Looked(5)
	j.Looked(4) // what was seen is not unseen
	release := &store.Release{WakeAt: 77}
	req, last := j.Next(nonce, release, store.StateKeep)
	if !last || req.Execution != rigID || req.Nonce != nonce || req.Expect != tip9 || req.As != me || req.Claim != nil ||
		req.Index != nil || req.Release != release || req.State != store.StateKeep || req.Seen != 5 || len(req.Events) != 2 {
		t.Fatalf("last %v, %+v", last, req)
	}
	if j.InFlight() != req {
		t.Error("it is not in flight")
	}
	j.Enqueue(fact(12, 10)) // meanwhile
	if len(req.Events) != 2 {
		t.Error("the request in flight grew")
	}
	if f := j.Settle(landed(req)); f != Durable || j.Durable() != 11 || j.Tip().Mark != nonce || j.InFlight() != nil {
		t.Fatalf("fate %d, durable %d", f, j.Durable())
	}
	if n, size := j.Backlog(); n != 1 || size != fact(12, 10).Size() || !j.Dirty() {
		t.Errorf("backlog %d, %d bytes", n, size)
	}
	req, _ = j.Next(nonce2, nil, store.StateKeep)
	if req.Expect.Head != 11 || req.Expect.Mark != nonce || len(req.Events) != 1 || req.Events[0].Sequence != 12 {
		t.Errorf("the next request is %+v", req)
	}
	j.Settle(landed(req))
	if n, size := j.Backlog(); n != 0 || size != 0 || j.Dirty() {
		t.Errorf("backlog %d, %d bytes, dirty %v", n, size, j.Dirty())
	}
}

// TestAStartCreates: expect none, own it, no token of its own; with node "" for
// whoever comes; and once it has landed the journal writes as its owner.
func TestAStartCreates(t *testing.T) {
	index := store.IndexEntry{Flow: "checkout"}
	j := NewStart(rigID, me, index)
	if j.Born() || j.Durable() != event.None {
		t.Fatal("born before it was written")
	}
	j.Enqueue(fact(0, 1))
	req, _ := j.Next(nonce, nil, store.StateKeep)
	if req.Expect != store.Absent() || req.As != "" || req.Index == nil || req.Index.Flow != "checkout" ||
		req.Claim == nil || *req.Claim != (store.Claim{Owner: me, When: store.AnyOwner}) {
		t.Fatalf("a start is %+v", req)
	}
	if f := j.Settle(landed(req)); f != Durable || !j.Born() || j.Durable() != 0 {
		t.Fatalf("fate %d, born %v", f, j.Born())
	}
	j.Enqueue(fact(1, 1))
	req, _ = j.Next(nonce2, nil, store.StateKeep)
	if req.As != me || req.Claim != nil || req.Index != nil || req.Expect.Fence != 0 || req.Expect.Anchor != "17" {
		t.Errorf("after a start a commit is %+v", req)
	}

	forOthers := NewStart(rigID, "", index)
	forOthers.Enqueue(fact(0, 1))
	release := &store.Release{WakeAt: 5}
	req, _ = forOthers.Next(nonce, release, store.StateKeep)
	if req.Claim != nil || req.As != "" || req.Release != release || req.Index == nil {
		t.Errorf("a start for others is %+v", req)
	}
}

// TestCommitsAreSplit above the limit: what is over travels in the next; release
// and state ride on the last alone; one event above the limit travels by itself.
func TestCommitsAreSplit(t *testing.T) {
	j := NewJournal(rigID, me, tip9)
	var whole []event.Seq
	sizes := []int{MaxCommitBytes / 2, MaxCommitBytes/2 - 500, 1000, MaxCommitBytes + 5, 10, 10}
	for i, size := range sizes {
		j.Enqueue(fact(10+event.Seq(i), size))
		whole = append(whole, 10+event.Seq(i))
	}
	release := &store.Release{}
	var parts []int
	var sent []event.Seq
	for {
		n, total := j.Backlog()
		req, last := j.Next(store.Nonce{byte(len(parts) + 1)}, release, store.StateCompleted)
		size := 0
		for _, e := range req.Events {
			sent = append(sent, e.Sequence)
			size += e.Size()
		}
		if size > MaxCommitBytes && len(req.Events) > 1 {
			t.Errorf("%d events of %d bytes in one commit", len(req.Events), size)
		}
		if last != (len(req.Events) == n) || (req.Release != nil) != last || (req.State == store.StateCompleted) != last {
			t.Errorf("part %d: last %v, release %v, state %s", len(parts), last, req.Release, req.State)
		}
		parts = append(parts, len(req.Events))
		if f := j.Settle(landed(req)); f != Durable {
			t.Fatalf("fate %d", f)
		}
		if _, left := j.Backlog(); left != total-size {
			t.Errorf("backlog of %d bytes after %d of %d", left, size, total)
		}
		if last {
			break
		}
	}
	if !slices.Equal(sent, whole) || !slices.Equal(parts, []int{2, 1, 1, 2}) {
		t.Errorf("sent %v in parts of %v", sent, parts)
	}
}

// TestConsumedMailTravelsWithItsEvent: not before it, not twice, and a repeat that
// is only dropped with whatever comes next.
func TestConsumedMailTravelsWithItsEvent(t *testing.T) {
	j := NewJournal(rigID, me, tip9)
	j.Enqueue(fact(10, MaxCommitBytes), fact(11, 10))
	j.Consume(4, 11)
	j.Consume(2, 10)
	j.Consume(3, event.None)
	req, last := j.Next(nonce, nil, store.StateKeep)
	if last || !slices.Equal(req.Consume, []int64{2, 3}) {
		t.Fatalf("last %v, consumes %v", last, req.Consume)
	}
	j.Consume(5, event.None) // while it is in flight
	j.Settle(landed(req))
	req, _ = j.Next(nonce2, nil, store.StateKeep)
	if !slices.Equal(req.Consume, []int64{4, 5}) {
		t.Fatalf("then it consumes %v", req.Consume)
	}
	j.Settle(landed(req))
	if j.Dirty() {
		t.Error("something is left")
	}
	j.Consume(6, event.None)
	if !j.Dirty() {
		t.Error("a dropped message alone is to be committed")
	}
	req, last = j.Next(store.Nonce{3}, nil, store.StateKeep)
	if !last || len(req.Events) != 0 || !slices.Equal(req.Consume, []int64{6}) {
		t.Errorf("last %v, %+v", last, req)
	}
	// a refusal leaves the message where it is
	j.Settle(refused(store.RefusedMail, j.Tip()))
	req, _ = j.Next(store.Nonce{4}, nil, store.StateKeep)
	if !slices.Equal(req.Consume, []int64{6}) {
		t.Errorf("after a refusal it consumes %v", req.Consume)
	}
}
