package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/memstore"
)

// TestModel holds random stories against requests that are judged one by one.
func TestModel(t *testing.T) {
	const seeds = 400
	for seed := range uint64(seeds) {
		bubble(t, func(t *testing.T) { model(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("tally: seeds=%d", seeds)
}

// FuzzModel looks for further ones.
func FuzzModel(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { bubble(t, func(t *testing.T) { model(t, seed) }) })
}

// story is one run: callers with requests for a few executions, each with a tip that is
// right, a guess, or wrong, over a store that fails calls as wholes because of some.
type story struct {
	r    *rand.Rand
	seen map[event.ExecutionID]store.Tip // what the next request builds on
	came []store.Request                 // in the order in which they came into the line
	sent []sentCall
}

type sentCall struct {
	request store.Request
	failed  bool
}

// model checks claims B-63 and B-64 and race 12 in general: each request has the verdict
// that it would have alone, in an order in which the requests of each execution are as
// they came.
func model(t *testing.T, seed uint64) {
	s := &story{r: rand.New(rand.NewPCG(seed, 7)), seen: map[event.ExecutionID]store.Tip{}}
	o := &coalesce.Options{MaxRequests: 1 + s.r.IntN(8), MaxBytes: 1000 << s.r.IntN(6)}
	fixed := func() event.Time { return 1_700_000_000_000_000 }
	x := &tap{db: memstore.New(&memstore.Options{Now: fixed})}
	x.Log = x.db
	whole := s.r.IntN(2) == 0
	x.answering(func(ctx context.Context, reqs []store.Request) ([]store.Result, error, bool) {
		bad := slices.ContainsFunc(reqs, func(r store.Request) bool { return poisoned(&r) })
		if !bad || len(reqs) == 1 {
			for _, r := range reqs {
				s.sent = append(s.sent, sentCall{r, bad})
			}
		}
		if bad && !whole {
			res := make([]store.Result, len(reqs))
			for i := range res {
				res[i] = store.Result{Outcome: store.Failed, Err: errPoison}
			}
			return res, nil, true
		}
		return nil, errPoison, bad
	})
	stack, err := store.Stack(store.Store{Log: x}, coalesce.New(o))
	if err != nil {
		t.Fatal(err)
	}
	got := map[store.Nonce]store.Result{}
	for range 1 + s.r.IntN(4) {
		release := x.hold()
		type caller struct {
			reqs []store.Request
			got  <-chan answer
		}
		var callers []caller
		for range 1 + s.r.IntN(12) {
			reqs := make([]store.Request, 1+s.r.IntN(4))
			for i := range reqs {
				reqs[i] = s.request()
			}
			s.came = append(s.came, reqs...)
			callers = append(callers, caller{reqs, send(background, stack.Log, reqs...)})
		}
		release()
		for _, c := range callers {
			a := now(t, c.got)
			for i, r := range c.reqs {
				switch {
				case a.err != nil && errors.Is(a.err, errPoison):
					got[r.Nonce] = store.Result{Outcome: store.Failed}
				case a.err != nil || len(a.res) != len(c.reqs):
					t.Fatalf("%+v, %v", a.res, a.err)
				default:
					got[r.Nonce] = a.res[i]
				}
				if res := got[r.Nonce]; res.Outcome == store.Committed {
					s.seen[r.Execution] = res.Tip
				}
			}
		}
	}
	s.check(t, x.db, memstore.New(&memstore.Options{Now: fixed}), got)
}

// request makes one for one of five executions.
func (s *story) request() store.Request {
	id := event.ExecutionID(fmt.Sprint("x", s.r.IntN(5)))
	tip, ok := s.seen[id]
	req := birth(id)
	if ok && s.r.IntN(10) > 0 {
		switch s.r.IntN(12) {
		case 0:
			tip.Fence++
		case 1:
			tip.Head--
		case 2:
			tip.Anchor += "0"
		}
		req = next(id, tip)
		if s.r.IntN(3) > 0 { // the next one guesses that this one is committed
			tip.Head++
			tip.Mark = req.Nonce
			s.seen[id] = tip
		}
	} else if !ok {
		s.seen[id] = store.Tip{Head: 0, Anchor: store.IncarnationAnchor(int64(1 + s.r.IntN(5))), Mark: req.Nonce}
	}
	switch s.r.IntN(12) {
	case 0:
		req.Events[0].Payload = []byte(`"poison"`)
	case 1:
		req.Alone = true
	case 2:
		req.Nonce = store.Nonce{} // which nobody may send
	case 3:
		req.Events[0].Payload = make([]byte, 3000)
	case 4:
		if n := len(s.came); n > 0 {
			req = s.came[s.r.IntN(n)] // sent again
			if req.Nonce.IsZero() || poisoned(&req) {
				return birth(id)
			}
		}
	}
	if req.Nonce.IsZero() {
		req = birth(id)
		req.Events = nil // refused as invalid
	}
	return req
}

// check replays, one by one, what reached the store.
func (s *story) check(t *testing.T, db, alone *memstore.DB, got map[store.Nonce]store.Result) {
	of := func(all []store.Request, id event.ExecutionID) (nonces []store.Nonce) {
		for _, r := range all {
			if r.Execution == id {
				nonces = append(nonces, r.Nonce)
			}
		}
		return nonces
	}
	var sent []store.Request
	again := map[store.Nonce]int{}
	for _, c := range s.sent {
		sent = append(sent, c.request)
		again[c.request.Nonce]++
	}
	for i := range 5 {
		id := event.ExecutionID(fmt.Sprint("x", i))
		if a, b := of(s.came, id), of(sent, id); !slices.Equal(a, b) {
			t.Errorf("requests of %s came as %x and were judged as %x", id, a, b)
		}
	}
	for _, c := range s.sent {
		want := store.Result{Outcome: store.Failed}
		if !c.failed {
			res, err := alone.Commit(background, c.request)
			if err != nil {
				t.Fatal(err)
			}
			want = res[0]
		}
		have := got[c.request.Nonce]
		want.Err, have.Err = nil, nil
		// Of one that was sent twice the last answer was kept.
		if again[c.request.Nonce]--; again[c.request.Nonce] == 0 && !reflect.DeepEqual(want, have) {
			t.Errorf("%s head %d: alone %+v, in company %+v", c.request.Execution, c.request.Expect.Head, want, have)
		}
	}
	haveHeads, haveEvents := rows(t, db)
	wantHeads, wantEvents := rows(t, alone)
	if !reflect.DeepEqual(haveHeads, wantHeads) || !slices.EqualFunc(haveEvents, wantEvents, event.Envelope.Equal) {
		t.Errorf("rows\n%+v\nand alone\n%+v", haveHeads, wantHeads)
	}
}

// rows are all head rows and events.
func rows(t *testing.T, db *memstore.DB) (heads []store.Head, events []event.Envelope) {
	t.Helper()
	heads, _, err := db.List(background, store.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heads {
		for e, err := range db.Read(background, h.Execution, store.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
	}
	return heads, events
}
