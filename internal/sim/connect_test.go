package sim

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
)

func startOf(id event.ExecutionID, n byte, node string, at event.Time) store.Request {
	return store.Request{
		Execution: id, Nonce: store.Nonce{n}, Expect: store.Absent(), As: store.NodeID(node), Index: &store.IndexEntry{Flow: "f"},
		Events:  []event.Envelope{event.New(id, 0, at, event.ExecutionStarted{Flow: "f", Input: []byte("1"), Seed: "0"}, nil)},
		Release: &store.Release{},
	}
}

// TestCrashAroundAStoreCall: a call has two points; the write landed at the
// second, and what is deferred on the dead node never comes to the store.
func TestCrashAroundAStoreCall(t *testing.T) {
	for point, landed := range map[int64]bool{1: false, 2: true} {
		w := New(1, nil)
		h := NewHistory(w)
		db := store.Of(memstore.New(&memstore.Options{Now: w.StoreNow}))
		n := w.Node("A")
		link := n.Connect(db, h, fault.Rates{}, nil)
		err := w.Run(func() {
			n.AtPoint(point, n.Crash)
			n.Go("starts", func() {
				defer link.Store.Log.Commit(background, startOf("second", 2, "A", 1))
				link.Store.Log.Commit(background, startOf("first", 1, "A", 1))
			})
			w.Outside().Sleep(time.Second)
			for id, want := range map[event.ExecutionID]bool{"first": landed, "second": false} {
				if tip, err := db.Log.Tip(background, id); err != nil || tip.Exists() != want {
					w.Fail("crash at point %d: %s exists %v, %v", point, id, tip.Exists(), err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLateWriteOutlivesItsNode is how race 26 begins: the request is on its way,
// its caller gives up or dies, and it lands.
func TestLateWriteOutlivesItsNode(t *testing.T) {
	for _, crash := range []bool{false, true} {
		w := New(1, nil)
		h := NewHistory(w)
		db := store.Of(memstore.New(&memstore.Options{Now: w.StoreNow}))
		n := w.Node("A")
		link := n.Connect(db, h, fault.Rates{}, func(*fault.Call) fault.Fault {
			return fault.Fault{Act: fault.Late, Delay: time.Minute}
		})
		enough := errors.New("enough")
		err := w.Run(func() {
			exists := func() bool { tip, _ := db.Log.Tip(background, "x"); return tip.Exists() }
			n.Go("starts", func() {
				ctx, cancel := n.WithCancel(background)
				n.After(time.Second, func() { cancel(enough) })
				if crash {
					n.After(time.Second/2, n.Crash)
				}
				res, err := link.Store.Log.Commit(ctx, startOf("x", 1, "A", 1))
				if crash || err != nil || res[0].Outcome != store.Unknown || res[0].Err != enough || w.Now() != time.Second {
					w.Fail("%+v, %v", res, err)
				}
			})
			w.Outside().Sleep(59 * time.Second)
			if exists() {
				w.Fail("it was not late")
			}
			w.Outside().Sleep(2 * time.Second)
			if !exists() {
				w.Fail("it never came")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// crowd is a workload on the store alone: nodes that start, claim, write and
// park the same few executions with whatever tip they last saw, and resend what
// got no answer, under every fault.
func crowd(w *World, h *History) func() {
	return func() {
		db := store.Of(memstore.New(&memstore.Options{Now: w.StoreNow}))
		left, done := 3, w.Outside().NewLatch()
		for i := range 3 {
			name := string(rune('A' + i))
			n := w.Node(name)
			link := n.Connect(db, h, fault.Rates{LoseReply: 60, LoseRequest: 60, Fail: 60, FailRead: 60, FailRenew: 100, Slow: 60, Late: 60}, nil)
			n.Go("acts", func() {
				seen := map[event.ExecutionID]store.Head{}
				for range 40 {
					crowdAct(w, n, link.Store, seen)
				}
				if left--; left == 0 {
					done.Open()
				}
			})
		}
		done.Wait(background)
		w.Outside().Sleep(time.Minute) // what is late still lands
	}
}

func crowdAct(w *World, n *Node, s store.Store, seen map[event.ExecutionID]store.Head) {
	id := event.ExecutionID(fmt.Sprint("e", w.Decide("execution", 2)))
	if w.Chance("renew", 500) {
		s.Leaser.Renew(background, store.NodeID(n.name), 3*time.Second, nil)
	}
	q := store.Request{Execution: id, As: store.NodeID(n.name)}
	n.Random(q.Nonce[:])
	head, ok, err := s.Index.Get(background, id)
	switch {
	case err != nil:
		return
	case !ok:
		nonce := q.Nonce
		q = startOf(id, 1, n.name, w.StoreNow())
		q.Nonce = nonce
	default:
		if old, ok := seen[id]; ok && w.Chance("old", 300) {
			head = old // it acts on what it saw before
		} else {
			seen[id] = head
		}
		if w.Chance("forged", 50) {
			head.Tip.Fence++
		}
		if w.Chance("unmarked", 100) {
			head.Tip.Mark = store.Nonce{}
		}
		if w.Chance("masked", 50) {
			q.As = "A"
		}
		q.Expect = head.Tip
		switch w.Decide("act", 4) {
		case 0:
			q.Claim = &store.Claim{Owner: q.As, When: store.Unowned + store.When(w.Decide("when", 3))}
		case 1:
			q.Release = &store.Release{WakeAt: event.Never}
		}
		fence := head.Tip.Fence
		if q.Claim != nil {
			fence++
		}
		var meta []byte
		if fence > 0 {
			meta = event.EncodeMeta(map[string]string{event.MetaFence: fmt.Sprint(fence)})
		}
		for k := range w.Decide("events", 3) {
			p := event.EffectScheduled{Op: fmt.Sprintf("/%s#%d", n.name, head.Tip.Head+1+event.Seq(k))}
			q.Events = append(q.Events, event.New(id, head.Tip.Head+1+event.Seq(k), w.StoreNow(), p, meta))
		}
	}
	for range 4 {
		res, err := s.Log.Commit(background, q)
		if err == nil && res[0].Outcome != store.Unknown {
			break
		}
	}
	for range s.Log.Read(background, id, store.Range{Strong: true}) {
	}
	s.Log.Tip(background, id)
}

// runCrowd runs one seed twice and judges it.
func runCrowd(seed uint64) (h *History, err error) {
	var runs [2]Run
	for i := range runs {
		w := New(seed, nil)
		h := NewHistory(w)
		if err := w.Run(crowd(w, h)); err != nil {
			return nil, err
		}
		runs[i] = Run{w, h}
	}
	vs := append(Same(runs[0], runs[1]), Judge(Judgement{History: runs[0].History})...)
	if len(vs) > 0 {
		return nil, fmt.Errorf("seed %d: %v", seed, vs)
	}
	return runs[0].History, nil
}

// TestSimCrowd: oracle O1, O2, O8 and O20 over the store under faults.
func TestSimCrowd(t *testing.T) {
	again, commits := 0, 0
	const seeds = 100
	for seed := range uint64(seeds) {
		h, err := runCrowd(seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range h.Records {
			if r.Did == DidCommit && r.Result.Outcome == store.Committed {
				if commits++; r.Result.Again {
					again++
				}
			}
		}
	}
	if again < seeds/2 || commits < 10*seeds {
		t.Errorf("%d commits, %d of them answered again: the faults do not reach", commits, again)
	}
	t.Logf("tally: seeds=%d", seeds)
}

func TestSameCanFail(t *testing.T) {
	run := func(seed uint64, payload string) Run {
		w := New(seed, nil)
		h := NewHistory(w)
		q := startOf("e", 1, "A", 1)
		q.Events[0].Payload = []byte(payload)
		db := store.Of(memstore.New(&memstore.Options{Now: w.StoreNow}))
		link := w.Outside().Connect(db, h, fault.Rates{}, nil)
		if err := w.Run(func() {
			w.Decide("x", 1<<30)
			link.Store.Log.Commit(background, q)
		}); err != nil {
			t.Fatal(err)
		}
		return Run{w, h}
	}
	one := func() Run { return run(1, `{"flow":"f"}`) }
	if vs := Same(one(), one()); len(vs) > 0 {
		t.Errorf("the same run: %v", vs)
	}
	if vs := Same(one(), run(2, `{"flow":"f"}`)); len(vs) != 1 {
		t.Errorf("other decisions: %v", vs)
	}
	if vs := Same(one(), run(1, `{"flow":"g"}`)); len(vs) != 1 || vs[0].Execution != "e" {
		t.Errorf("other bytes: %v", vs)
	}
}
