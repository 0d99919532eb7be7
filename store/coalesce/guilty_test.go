package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
)

var errPoison = errors.New("this value is not accepted")

func poisoned(r *store.Request) bool {
	return len(r.Events) > 0 && strings.Contains(string(r.Events[0].Payload), "poison")
}

// allOrNothing makes the tap a store that fails a call as a whole because of one of its
// requests, in one of two ways: nothing attempted, or each request failed.
func (x *tap) allOrNothing(whole bool) {
	x.answering(func(_ context.Context, reqs []store.Request) ([]store.Result, error, bool) {
		for i := range reqs {
			if !poisoned(&reqs[i]) {
				continue
			}
			if whole {
				return nil, errPoison, true
			}
			res := make([]store.Result, len(reqs))
			for k := range res {
				res[k] = store.Result{Outcome: store.Failed, Err: fmt.Errorf("request %d: %w", i, errPoison)}
			}
			return res, nil, true
		}
		return nil, nil, false
	})
}

// guiltKind is what is wrong with a request, and how its sender must hear of it.
type guiltKind struct {
	name   string
	make   func(t *testing.T, x *tap, id event.ExecutionID) store.Request
	heard  func(a answer) bool
	whole  bool // the store fails calls as wholes, by an error
	failed bool // or by their results
}

var kinds = []guiltKind{
	{"duplicate", func(t *testing.T, x *tap, id event.ExecutionID) store.Request {
		x.must(t, birth(id))
		return birth(id)
	}, func(a answer) bool { return a.err == nil && a.res[0].Refusal == store.RefusedHead }, false, false},
	{"stale", func(t *testing.T, x *tap, id event.ExecutionID) store.Request {
		tip := x.must(t, birth(id)).Tip
		x.must(t, store.Request{Execution: id, Nonce: nonce(), Expect: tip, Claim: &store.Claim{When: store.AnyOwner}})
		return next(id, tip)
	}, func(a answer) bool { return a.err == nil && a.res[0].Refusal == store.RefusedFence }, false, false},
	{"data error of the call", poison, func(a answer) bool { return errors.Is(a.err, errPoison) }, true, false},
	{"data error of the results", poison, func(a answer) bool {
		return a.err == nil && a.res[0].Outcome == store.Failed && errors.Is(a.res[0].Err, errPoison)
	}, false, true},
}

func poison(_ *testing.T, _ *tap, id event.ExecutionID) store.Request {
	r := birth(id)
	r.Events[0].Payload = []byte(`"poison"`)
	return r
}

// claim H-06, claim B-63, claim B-64: of 64 requests in one flush, g are guilty. The others are
// committed, each guilty one alone hears of it. Conflicts cost no call; one data error
// among 64 costs at most twelve.
func TestGuiltAmong64(t *testing.T) {
	const n = 64
	for _, kind := range kinds {
		for _, g := range []int{1, 2, 63, 64} {
			worst, rounds := 0, 1
			if g < 63 {
				rounds = n // so that one guilty request stands at each place
			}
			for round := range rounds {
				t.Run(fmt.Sprintf("%s/%d/%d", kind.name, g, round), func(t *testing.T) {
					bubble(t, func(t *testing.T) { worst = max(worst, guilt(t, kind, n, g, round)) })
				})
			}
			t.Logf("%s: %d of %d guilty take %d calls at most", kind.name, g, n, worst)
		}
	}
}

// guilt plays one flush and returns how many calls it took.
func guilt(t *testing.T, kind guiltKind, n, g, round int) int {
	l, x := over(t, nil)
	if kind.whole || kind.failed {
		x.allOrNothing(kind.whole)
	}
	guilty := map[int]bool{}
	if round > 0 || g == 1 {
		guilty[round] = true
	}
	for r := rand.New(rand.NewPCG(uint64(g), uint64(round))); len(guilty) < g; {
		guilty[r.IntN(n)] = true
	}
	release := x.hold()
	first := send(background, l, birth("first"))
	got := make([]<-chan answer, n)
	for i := range n {
		id := event.ExecutionID(fmt.Sprint("x", i))
		req := birth(id)
		if guilty[i] {
			req = kind.make(t, x, id)
		}
		got[i] = send(background, l, req)
	}
	x.forget()
	release()
	one(t, first)
	acks := 0
	for i := range n {
		switch a := now(t, got[i]); {
		case a.err == nil && a.res[0].Outcome == store.Committed:
			acks++
			if guilty[i] || !x.exists(t, event.ExecutionID(fmt.Sprint("x", i))) {
				t.Errorf("request %d is committed: %+v", i, a.res)
			}
		case !guilty[i] || !kind.heard(a):
			t.Errorf("request %d, guilty %v: %+v, %v", i, guilty[i], a.res, a.err)
		}
	}
	if acks != n-g {
		t.Errorf("%d acknowledged", acks)
	}
	calls := x.count()
	most := n + 6 + 1
	switch {
	case !kind.whole && !kind.failed:
		most = 1
	case g == 1:
		most = 13
	case g == 2:
		most = 24
	case g == 63:
		most = 2*n - 1
	}
	if calls > most {
		t.Errorf("%d calls, more than %d", calls, most)
	}
	return calls
}

// claim B-22: right after a call has failed as a whole nothing of anyone in it is there;
// in the end what is written is what its sender heard.
func TestAFailedCallWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		release := x.hold()
		first := send(background, l, birth("first"))
		ids := []event.ExecutionID{"a", "b", "c"}
		got := []<-chan answer{send(background, l, birth("a")), send(background, l, poison(t, x, "b")), send(background, l, birth("c"))}
		x.allOrNothing(true)
		fails, failures := x.mu.answer, 0
		x.answering(func(ctx context.Context, reqs []store.Request) ([]store.Result, error, bool) {
			res, err, mine := fails(ctx, reqs)
			if mine {
				failures++
				for i := range reqs {
					if x.exists(t, reqs[i].Execution) {
						t.Errorf("%s was written by call %d", reqs[i].Execution, failures)
					}
				}
			}
			return res, err, mine
		})
		release()
		one(t, first)
		for i, id := range ids {
			a := now(t, got[i])
			if poisoned := id == "b"; errors.Is(a.err, errPoison) != poisoned || x.exists(t, id) == poisoned {
				t.Errorf("%s: %+v, %v", id, a.res, a.err)
			}
		}
		if failures < 2 {
			t.Errorf("%d calls failed", failures)
		}
	})
}

// Failures of the store are nobody's own: they are handed on after one call. Where there
// is no room, three more are tried, because something small may fit.
func TestFailuresOfTheStore(t *testing.T) {
	for _, c := range []struct {
		cause error
		most  int
	}{
		{store.ErrReadOnly, 1}, {store.ErrVanished, 1}, {store.ErrClosed, 1}, {store.ErrBusy, 1}, {store.ErrUnavailable, 1},
		{context.DeadlineExceeded, 1}, {store.ErrFull, 9}, {errors.New("a cause without a code"), 64 + 7},
	} {
		bubble(t, func(t *testing.T) {
			l, x := over(t, nil)
			release := x.hold()
			first := send(background, l, birth("first"))
			got := make([]<-chan answer, 64)
			for i := range got {
				got[i] = send(background, l, birth(event.ExecutionID(fmt.Sprint("x", i))))
			}
			x.forget()
			x.answering(func(_ context.Context, reqs []store.Request) ([]store.Result, error, bool) {
				res := make([]store.Result, len(reqs))
				for i := range res {
					res[i] = store.Result{Outcome: store.Failed, Err: fmt.Errorf("down: %w", c.cause)}
				}
				return res, nil, reqs[0].Execution != "first"
			})
			release()
			one(t, first)
			for _, g := range got {
				if r := one(t, g); r.Outcome != store.Failed || !errors.Is(r.Err, c.cause) {
					t.Errorf("%v: %+v", c.cause, r)
				}
			}
			if n := x.count(); n > c.most {
				t.Errorf("%v: %d calls", c.cause, n)
			}
		})
	}
}

// Room for what is small: the one that does not fit fails alone.
func TestAFullStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		release := x.hold()
		first := send(background, l, birth("first"))
		got := make([]<-chan answer, 64)
		for i := range got {
			r := birth(event.ExecutionID(fmt.Sprint("x", i)))
			if i == 40 {
				r.Events[0].Payload = make([]byte, 5000)
			}
			got[i] = send(background, l, r)
		}
		x.answering(func(_ context.Context, reqs []store.Request) ([]store.Result, error, bool) {
			for i := range reqs {
				if reqs[i].Events[0].Size() > 5000 {
					return nil, store.ErrFull, true
				}
			}
			return nil, nil, false
		})
		release()
		one(t, first)
		for i, g := range got {
			if a := now(t, g); errors.Is(a.err, store.ErrFull) != (i == 40) || (a.err == nil) != (i != 40) {
				t.Errorf("request %d: %+v, %v", i, a.res, a.err)
			}
		}
	})
}

// An unknown outcome is everybody's, and nothing of it is sent again: that is for the
// senders, who have the nonces.
func TestAnUnknownOutcomeIsHandedOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, &coalesce.Options{})
		release := x.hold()
		first := send(background, l, birth("first"))
		reqs := make([]store.Request, 8)
		got := make([]<-chan answer, 8)
		for i := range reqs {
			reqs[i] = birth(event.ExecutionID(fmt.Sprint("x", i)))
			got[i] = send(background, l, reqs[i])
		}
		x.forget()
		lost := errors.New("no reply")
		x.answering(func(_ context.Context, sent []store.Request) ([]store.Result, error, bool) {
			if len(sent) == 1 {
				return nil, nil, false
			}
			_, _ = x.db.Commit(background, sent...)
			res := make([]store.Result, len(sent))
			for i := range res {
				res[i] = store.Result{Err: lost}
			}
			return res, nil, true
		})
		release()
		one(t, first)
		for i, g := range got {
			if r := one(t, g); r.Outcome != store.Unknown || !errors.Is(r.Err, lost) {
				t.Errorf("request %d: %+v", i, r)
			}
		}
		if x.count() != 1 {
			t.Fatalf("%d calls", x.count())
		}
		for i := range reqs {
			if r := one(t, send(background, l, reqs[i])); r.Outcome != store.Committed || !r.Again {
				t.Errorf("request %d again: %+v", i, r)
			}
		}
	})
}
