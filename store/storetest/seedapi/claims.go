package seedapi

import (
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/storetest"
)

// Run tries what was promised of the older operations on stores that open makes,
// each promise as a subtest of t. claim is the level that the stores mean to
// meet. The stores need the parts Log, Index, Leaser and Deleter, and a bench a
// clock that moves.
func Run(t *testing.T, open storetest.Opener, claim storetest.Claim) {
	t.Helper()
	if claim.SPI == "" {
		claim.SPI = store.SPI
	}
	level, err := store.ParseLevel(claim.SPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		try  func(*trial)
	}{
		{"claim B-17: the token is judged before the slot", tokenBeforeSlot},
		{"claim B-49: a missing token is refused once there is one", missingToken},
		{"claim B-50: the first token shuts out a starter without one", shutOut},
		{"claim B-51: a stranger without a token lands nothing by the one door", stranger},
		{"claim B-54: a first event lands under the newest token alone", newestToken},
		{"claim B-62: two nodes that fire one timer leave one fired event", firedOnce},
		{"claim B-22: a batch is written all or none", wholeBatch},
		{"claim H-26: no operation leaves a gap", noGap},
		{"claim H-33: no token, token 0 and never acquired are three things", threeThings},
		{"claim H-09: a survivor of a deleted log writes nothing into its successor", survivor},
		{"claim A-02: head, token and anchor each refuse", eachRefuses},
		{"claim A-06: another creation time is another execution", laterCreation},
		{"a range is the events from one sequence to another", ranges},
	} {
		t.Run(c.name, func(t *testing.T) { c.try(newTrial(t, open, level)) })
	}
}

func tokenBeforeSlot(x *trial) {
	x.grown("e", 1, "")
	x.acquire("e", 1)
	x.acquire("e", 2)
	for _, token := range []store.Fence{store.NoFence, 0, 1, 3} {
		for _, seq := range []event.Seq{0, 1, 2, 7} { // taken, free, beyond the end
			e := refused[*StaleFenceError](x, "e", func() error { return x.Append(x.ctx, env("e", seq, "late"), token) })
			if e.Execution != "e" || e.Token != token || e.Current != 2 {
				x.Fatalf("%+v", e)
			}
		}
	}
	for _, seq := range []event.Seq{0, 1} {
		d := refused[*DuplicateSequenceError](x, "e", func() error { return x.Append(x.ctx, env("e", seq, "late"), 2) })
		if d.Execution != "e" || d.Sequence != seq {
			x.Fatalf("%+v", d)
		}
	}
	x.lands("e", 2, 2)
}

func missingToken(x *trial) {
	x.grown("e", 1, "")
	seen := x.tip("e")
	x.acquire("e", 1)
	refused[*StaleFenceError](x, "e", func() error { return x.Append(x.ctx, env("e", 2, ""), store.NoFence) })
	refused[*StaleFenceError](x, "e", func() error {
		return x.AppendBatch(x.ctx, []event.Envelope{env("e", 2, ""), env("e", 3, "")}, store.NoFence)
	})
	x.unchanged(Moved, "e", seen)
	x.lands("e", 2, 1)
}

func shutOut(x *trial) {
	x.lease("n1", 10e9)
	x.lease("n2", 1000e9)
	for _, c := range []struct {
		id    event.ExecutionID
		owner store.NodeID
		fence func(id event.ExecutionID)
	}{
		{"woken", "", func(id event.ExecutionID) {
			x.claim(id, "n2", store.Unowned, store.StateKeep, event.New(id, 1, at+1, event.TimerFired{Op: "nap#1"}, nil))
		}},
		{"recovered", "n1", func(id event.ExecutionID) {
			x.advance(11e9)
			x.claim(id, "n2", store.Lapsed, store.StateKeep)
		}},
		{"terminated", "n2", func(id event.ExecutionID) { x.claim(id, "", store.AnyOwner, store.StateTerminated, env(id, 1, "end")) }},
	} {
		x.begun(c.id, c.owner)
		c.fence(c.id)
		seq := x.tip(c.id).Head + 1
		refused[*StaleFenceError](x, c.id, func() error { return x.Append(x.ctx, env(c.id, seq, "starter"), store.NoFence) })
		// and by its own door, under the tip that it had
		was := store.Tip{Head: seq - 1, Anchor: x.row(c.id).Tip.Anchor}
		res := x.commit(store.Request{Execution: c.id, Expect: was, As: c.owner, Events: []event.Envelope{env(c.id, seq, "starter")}})
		if res.Refusal != store.RefusedFence || len(x.log(c.id)) != int(seq) {
			x.Fatalf("%s: %s, %s, %d events", c.id, res.Outcome, res.Refusal, len(x.log(c.id)))
		}
	}
}

// begun starts an execution by the one write door, for a node or for nobody.
func (x *trial) begun(id event.ExecutionID, node store.NodeID) store.Tip {
	x.Helper()
	req := store.Request{Execution: id, Expect: store.Absent(), Events: []event.Envelope{env(id, 0, "")}, Index: &store.IndexEntry{Flow: "seed"}}
	if node != "" {
		req.Claim = &store.Claim{Owner: node, When: store.AnyOwner}
	}
	res := x.commit(req)
	if res.Outcome != store.Committed {
		x.Fatalf("start of %s: %s, %s", id, res.Outcome, res.Refusal)
	}
	return res.Tip
}

func stranger(x *trial) {
	x.lease("n1", 1000e9)
	x.lease("n2", 1000e9)
	tip := x.begun("e", "n1")
	for _, as := range []store.NodeID{"", "n2"} {
		for _, fence := range []store.Fence{store.NoFence, 0} {
			was := store.Tip{Head: 0, Fence: fence, Anchor: tip.Anchor}
			res := x.commit(store.Request{Execution: "e", Expect: was, As: as, Events: []event.Envelope{env("e", 1, "stranger")}})
			if res.Outcome != store.Refused || len(x.log("e")) != 1 {
				x.Fatalf("a stranger as %q under token %d: %s, %d events", as, fence, res.Outcome, len(x.log("e")))
			}
		}
	}
	x.lands("e", 1, store.NoFence) // as the older system did it
	x.acquire("e", 1)
	refused[*StaleFenceError](x, "e", func() error { return x.Append(x.ctx, env("e", 2, ""), store.NoFence) })
}

func newestToken(x *trial) {
	for want := store.Fence(1); want <= 3; want++ {
		x.acquire("e", want)
	}
	for _, token := range []store.Fence{store.NoFence, 0, 1, 2, 4} {
		refused[*StaleFenceError](x, "e", func() error { return x.Append(x.ctx, env("e", 0, ""), token) })
	}
	x.lands("e", 0, 3)
	refused[*DuplicateSequenceError](x, "e", func() error { return x.Append(x.ctx, env("e", 0, "again"), 3) })
	refused[*StaleFenceError](x, "e", func() error { return x.Append(x.ctx, env("e", 0, "again"), 2) })
	x.lands("e", 1, 3)
	x.acquire("e", 4)
	refused[*StaleFenceError](x, "e", func() error { return x.Append(x.ctx, env("e", 2, ""), 3) })
}

// firedOnce lets two nodes fence and fire one timer in every order of their two
// steps.
func firedOnce(x *trial) {
	orders := [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {1, 1, 0, 0}, {1, 0, 1, 0}, {1, 0, 0, 1}}
	for i, order := range orders {
		id := event.ExecutionID("e-" + string(rune('a'+i)))
		x.lands(id, 0, store.NoFence)
		if err := x.Append(x.ctx, event.New(id, 1, at+1, event.TimerScheduled{Op: "nap#1", Deadline: at + 9}, nil), store.NoFence); err != nil {
			x.Fatal(err)
		}
		var tokens [2]store.Fence
		landed := 0
		for _, node := range order {
			if tokens[node] == 0 {
				token, err := x.AcquireFence(x.ctx, id)
				if err != nil {
					x.Fatal(err)
				}
				tokens[node] = token
				continue
			}
			fired := event.New(id, 2, at+9, event.TimerFired{Op: "nap#1"}, nil)
			if x.Append(x.ctx, fired, tokens[node]) == nil {
				landed++
			}
		}
		log := x.log(id) // without a gap, or it fails
		if landed != 1 || len(log) != 3 || log[2].Kind != event.KindTimerFired {
			x.Fatalf("order %v: %d firings landed, the log has %d events", order, landed, len(log))
		}
	}
}

func wholeBatch(x *trial) {
	x.grown("e", 3, "")
	for _, es := range [][]event.Envelope{
		{env("e", 3, "taken"), env("e", 4, "free")},
		{env("e", 4, "free"), env("e", 6, "hole")},
		{env("e", 4, "free"), env("other", 5, "elsewhere")},
	} {
		before := len(x.log("e"))
		if x.AppendBatch(x.ctx, es, store.NoFence) == nil || len(x.log("e")) != before || len(x.log("other")) != 0 {
			x.Fatalf("a batch with one bad envelope: %d events, before %d", len(x.log("e")), before)
		}
	}
	if err := x.AppendBatch(x.ctx, []event.Envelope{env("e", 4, ""), env("e", 5, ""), env("e", 6, "")}, store.NoFence); err != nil || len(x.log("e")) != 7 {
		x.Fatalf("%v, %d events", err, len(x.log("e")))
	}
	if err := x.AppendBatch(x.ctx, nil, store.NoFence); err != nil {
		x.Fatal(err)
	}
}

func noGap(x *trial) {
	gap := refused[*GapError](x, "e", func() error { return x.Append(x.ctx, env("e", 1, ""), store.NoFence) })
	if gap.Execution != "e" || gap.Sequence != 1 || gap.Head != event.None {
		x.Fatalf("%+v", gap)
	}
	x.grown("e", 3, "")
	gap = refused[*GapError](x, "e", func() error { return x.Append(x.ctx, env("e", 5, ""), store.NoFence) })
	if gap.Sequence != 5 || gap.Head != 3 {
		x.Fatalf("%+v", gap)
	}
}

// threeThings: what the head row calls token 0 is an execution that was never
// claimed; a writer that holds no token is not one that holds token 0.
func threeThings(x *trial) {
	if tip := x.tip("e"); tip.Head != event.None || tip.Fence != store.NoFence {
		x.Fatalf("what does not exist has the tip %+v", tip)
	}
	x.grown("e", 0, "")
	if tip, row := x.tip("e"), x.row("e").Tip; tip.Fence != store.NoFence || row.Fence != 0 {
		x.Fatalf("never acquired: %d here, %d in the row", tip.Fence, row.Fence)
	}
	step := func(fence store.Fence) store.Result {
		tip := x.row("e").Tip
		tip.Fence = fence
		return x.commit(store.Request{Execution: "e", Expect: tip, Events: []event.Envelope{env("e", tip.Head+1, "")}})
	}
	if res := step(store.NoFence); res.Refusal != store.RefusedFence {
		x.Fatalf("by the one door, without a token: %s, %s", res.Outcome, res.Refusal)
	}
	if res := step(0); res.Outcome != store.Committed {
		x.Fatalf("by the one door, with token 0: %s, %s", res.Outcome, res.Refusal)
	}
	x.lands("e", 2, store.NoFence)
	x.lands("e", 3, 0)
	x.acquire("e", 1)
	for _, token := range []store.Fence{store.NoFence, 0} {
		e := refused[*StaleFenceError](x, "e", func() error { return x.Append(x.ctx, env("e", 4, ""), token) })
		if e.Token != token {
			x.Fatalf("%+v", e)
		}
	}
	if tip := x.tip("e"); tip.Fence != 1 {
		x.Fatalf("after the first token: %+v", tip)
	}
}

// survivor has token 3 of a deleted log and wants slot 13 of its successor, which
// is free, under token 1.
func survivor(x *trial) {
	x.grown("e", 12, "first")
	for want := store.Fence(1); want <= 3; want++ {
		x.acquire("e", want)
	}
	was := x.row("e").Tip
	if err := x.Delete(x.ctx, "e"); err != nil {
		x.Fatal(err)
	}
	if err := x.Append(x.ctx, event.New("e", 0, at+7, event.ExecutionStarted{Flow: "seed", Input: []byte("2"), Seed: "01"}, nil), store.NoFence); err != nil {
		x.Fatal(err)
	}
	token, err := x.AcquireFence(x.ctx, "e")
	if err != nil {
		x.Fatal(err)
	}
	for seq := event.Seq(1); seq <= 12; seq++ {
		x.lands("e", seq, token)
	}
	now := x.row("e").Tip
	if now.Head != was.Head || x.level.AtLeast(store.Level23) && now.Fence != 1 {
		x.Fatalf("the successor has the tip %+v", now)
	}
	for _, change := range []func(*store.Tip){
		func(tip *store.Tip) {},
		func(tip *store.Tip) { tip.Mark = store.Nonce{} },
		func(tip *store.Tip) { tip.Mark, tip.Anchor = store.Nonce{}, now.Anchor }, // by the token alone: 3 is not 1, though it is more
		func(tip *store.Tip) { tip.Mark, tip.Fence = store.Nonce{}, now.Fence },   // by the incarnation alone
	} {
		tip := was
		change(&tip)
		if x.commit(store.Request{Execution: "e", Expect: tip, Events: []event.Envelope{env("e", 13, "zombie")}}).Outcome != store.Refused || len(x.log("e")) != 13 {
			x.Fatalf("a survivor under the tip %+v wrote slot 13", tip)
		}
	}
	x.unchanged(Moved, "e", Tip{Head: 12, Fence: 3, Anchor: was.Anchor})
	x.lands("e", 13, token)
}

func eachRefuses(x *trial) {
	x.grown("e", 2, "")
	x.acquire("e", 1)
	seen := x.tip("e")
	for _, change := range []func(*Tip){
		func(tip *Tip) { tip.Head-- },
		func(tip *Tip) { tip.Head++ },
		func(tip *Tip) { tip.Fence++ },
		func(tip *Tip) { tip.Fence-- },
		func(tip *Tip) { tip.Fence = store.NoFence },
		func(tip *Tip) { tip.Anchor += "0" },
		func(tip *Tip) { tip.Head, tip.Fence, tip.Anchor = event.None, store.NoFence, "" },
	} {
		tip := seen
		change(&tip)
		x.unchanged(Moved, "e", tip)
	}
	x.unchanged(Appended, "e", seen)
	x.unchanged(Moved, "e", seen)
	x.unchanged(Moved, "never-there", seen)
	x.unchanged(Appended, "new", Tip{Head: event.None, Fence: store.NoFence})
}

func laterCreation(x *trial) {
	x.grown("e", 5, "one")
	seen := x.tip("e")
	if err := x.Delete(x.ctx, "e"); err != nil {
		x.Fatal(err)
	}
	later := env("e", 0, "one")
	later.Time++
	if err := x.Append(x.ctx, later, store.NoFence); err != nil {
		x.Fatal(err)
	}
	for token, seq := x.tip("e").Fence, event.Seq(1); seq <= 5; seq++ {
		x.lands("e", seq, token)
	}
	if now := x.tip("e"); now.Head != seen.Head || now.Anchor == seen.Anchor {
		x.Fatalf("made again a microsecond later: %+v, before %+v", now, seen)
	}
	x.unchanged(Moved, "e", seen)
	anchor := x.tip("e")
	anchor.Anchor = seen.Anchor // by the anchor alone
	x.unchanged(Moved, "e", anchor)
}

func ranges(x *trial) {
	x.grown("e", 6, "")
	for _, r := range [][2]event.Seq{{0, 0}, {0, 6}, {2, 4}, {6, 6}, {5, 99}, {7, 9}, {3, 2}} {
		want := r[0]
		for e, err := range x.ReadRange(x.ctx, "e", r[0], r[1]) {
			if err != nil || e.Sequence != want || e.Sequence > r[1] {
				x.Fatalf("%v: %s, %v", r, e.ID(), err)
			}
			want++
		}
		if end := max(min(r[1], 6)+1, r[0]); want != end {
			x.Fatalf("%v ended before %d, want %d", r, want, end)
		}
	}
	if err := x.Delete(x.ctx, "e"); err != nil || len(x.log("e")) != 0 || x.Delete(x.ctx, "e") != nil {
		x.Fatalf("%v, %d events", err, len(x.log("e")))
	}
}
