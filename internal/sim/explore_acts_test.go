package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// tipAct is something that an actor does with the tip that it saw.
type tipAct struct {
	name string
	// winning are the situations in which it is taken if nobody was before.
	winning []string
	request func(expect store.Tip) store.Request
}

// Situations of the execution that all actors look at. In each, node A is alive and
// so is node C; node B's lease is over.
const (
	absent  = "absent"
	owned   = "owned by A"
	lapsed  = "owned by B, whose lease is over"
	parked  = "parked"
	over    = "ended"
	deleted = "being deleted"
)

var situations = []string{absent, owned, lapsed, parked, over, deleted}

// acts are those of the table of writers: each is a commit on the tip that was seen.
var acts = []tipAct{
	{"start", []string{absent}, func(store.Tip) store.Request {
		return store.Request{Expect: store.Absent(), As: "C", Index: &store.IndexEntry{Flow: "f"}, Claim: &store.Claim{Owner: "C", When: store.AnyOwner}}
	}},
	{"append", []string{owned}, func(tip store.Tip) store.Request { return store.Request{Expect: tip, As: "A"} }},
	{"park", []string{owned}, func(tip store.Tip) store.Request {
		return store.Request{Expect: tip, As: "A", Release: &store.Release{WakeAt: event.Never}}
	}},
	{"end", []string{owned}, func(tip store.Tip) store.Request {
		return store.Request{Expect: tip, As: "A", State: store.StateCompleted}
	}},
	{"wake", []string{parked}, func(tip store.Tip) store.Request {
		return store.Request{Expect: tip, As: "C", Claim: &store.Claim{Owner: "C", When: store.Unowned}}
	}},
	{"takeover", []string{lapsed}, func(tip store.Tip) store.Request {
		return store.Request{Expect: tip, As: "C", Claim: &store.Claim{Owner: "C", When: store.Lapsed}}
	}},
	{"late outcome", []string{parked, over}, func(tip store.Tip) store.Request { return store.Request{Expect: tip} }},
	{"terminate", []string{owned, lapsed, parked, over, deleted}, func(tip store.Tip) store.Request {
		return store.Request{Expect: tip, Claim: &store.Claim{When: store.AnyOwner}, State: store.StateFailed}
	}},
}

// post is the act that moves no tip: it wins nothing, and takes nothing from anybody.
const post = "post"

// scene is a store with the execution in a situation, and the tip that all saw.
type scene struct {
	now event.Time
	st  store.Store
	tip store.Tip
	n   byte
}

const sceneID = event.ExecutionID("e")

// complete gives a request what all of them have; a start has an event always.
func (s *scene) complete(q store.Request, withEvent bool) store.Request {
	s.n++
	q.Execution, q.Nonce = sceneID, store.Nonce{1, s.n}
	if withEvent || !q.Expect.Exists() {
		q.Events = []event.Envelope{event.New(sceneID, q.Expect.Head+1, s.now, event.Unknown{Name: "NOTED", Raw: []byte("{}")}, nil)}
	}
	return q
}

func (s *scene) send(q store.Request) store.Result {
	res, err := s.st.Log.Commit(context.Background(), q)
	if err != nil {
		return store.Result{Outcome: store.Failed, Err: err}
	}
	return res[0]
}

// setScene opens a store and brings the execution into a situation.
func setScene(t *testing.T, situation string) *scene {
	t.Helper()
	s := &scene{now: 1_700_000_000_000_000, tip: store.Absent()}
	s.st = store.Of(memstore.New(&memstore.Options{Now: func() event.Time { return s.now }}))
	lease := func(nodes ...store.NodeID) {
		for _, n := range nodes {
			if _, err := s.st.Leaser.Renew(context.Background(), n, time.Second, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	lease("A", "B", "C")
	step := func(q store.Request) {
		q.Expect = s.tip
		res := s.send(s.complete(q, true))
		if res.Outcome != store.Committed {
			t.Fatalf("setting %q: %+v", situation, res)
		}
		s.tip = res.Tip
	}
	owner := store.NodeID("A")
	if situation == lapsed {
		owner = "B"
	}
	if situation != absent {
		step(store.Request{As: owner, Index: &store.IndexEntry{Flow: "f"}, Claim: &store.Claim{Owner: owner, When: store.AnyOwner}})
	}
	switch situation {
	case parked:
		step(store.Request{As: owner, Release: &store.Release{WakeAt: event.Never}})
	case over, deleted:
		step(store.Request{As: owner, State: store.StateCompleted})
	}
	if situation == deleted {
		step(store.Request{Claim: &store.Claim{When: store.AtEnd}, State: store.StateDeleting})
	}
	s.now += event.Time(2 * time.Second / time.Microsecond)
	lease("A", "C")
	return s
}

// play has actors do their acts in the order of the list, all on the tip that they
// saw; an index behind the acts is a post. It returns an error if more than one won,
// or none although the first that could have come was there, or if the winner, whose
// answer was lost, is not known again.
func (s *scene) play(situation string, list []int, withEvents bool) error {
	won, could := -1, false
	var winner store.Request
	for i, k := range list {
		if k == len(acts) {
			m := store.Message{ID: fmt.Sprint("m", i), Name: "n", Body: []byte("1")}
			if _, err := s.st.Inbox.Post(context.Background(), sceneID, m); err != nil {
				return err
			}
			continue
		}
		q := acts[k].request(s.tip)
		if acts[k].name != "start" && situation == absent {
			continue // there is no tip to act on
		}
		q.Seen = int64(len(list)) // mail is another test's
		could = could || slices.Contains(acts[k].winning, situation)
		q = s.complete(q, withEvents)
		if res := s.send(q); res.Outcome == store.Committed {
			if won >= 0 {
				return fmt.Errorf("actor %d wins after actor %d: %+v", i, won, res)
			}
			won, winner = i, q
		}
	}
	switch {
	case could && won < 0:
		return fmt.Errorf("nobody wins")
	case !could && won >= 0:
		return fmt.Errorf("actor %d wins, who has no right to", won)
	case won >= 0:
		if res := s.send(winner); res.Outcome != store.Committed || !res.Again {
			return fmt.Errorf("the winner asks again and is told %+v", res)
		}
	}
	return nil
}

func names(list []int) (out []string) {
	for _, k := range list {
		if k == len(acts) {
			out = append(out, post)
		} else {
			out = append(out, acts[k].name)
		}
	}
	return out
}

// TestSimExploreOneTip: claim H-01 and race 13, of N actors who saw one tip one wins at most, and
// one does if any of them could: each situation, each choice of an act for each of 2
// to 4 actors, each order of them, with an event in each commit and without one.
func TestSimExploreOneTip(t *testing.T) {
	runs := 0
	for _, situation := range situations {
		for n := 2; n <= 4; n++ {
			list := make([]int, n)
			for more := true; more; more = count(list, len(acts)+1) {
				for _, withEvents := range []bool{true, false} {
					if err := setScene(t, situation).play(situation, list, withEvents); err != nil {
						t.Fatalf("%s, %v, events %v: %v", situation, names(list), withEvents, err)
					}
					runs++
				}
			}
		}
	}
	t.Logf("tally: interleavings=%d", runs)
}

// count moves a list of digits to the next number; false after the last.
func count(list []int, base int) bool {
	for i := range list {
		if list[i]++; list[i] < base {
			return true
		}
		list[i] = 0
	}
	return false
}

// TestSimExploreManyActors: claim H-01 for 5 to 8 actors, of which a sample is drawn.
func TestSimExploreManyActors(t *testing.T) {
	d := rand.New(rand.NewPCG(8, 6))
	const runs = 20_000
	for range runs {
		list := make([]int, 5+d.IntN(4))
		for i := range list {
			list[i] = d.IntN(len(acts) + 1)
		}
		situation := situations[d.IntN(len(situations))]
		if err := setScene(t, situation).play(situation, list, d.IntN(2) == 0); err != nil {
			t.Fatalf("%s, %v: %v", situation, names(list), err)
		}
	}
	t.Logf("tally: interleavings=%d", runs)
}
