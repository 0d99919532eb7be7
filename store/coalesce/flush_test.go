package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
)

var background = context.Background()

// Whoever comes while a flush is on its way is in the next one, all in one call.
func TestWhatWaitsIsOneCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		release := x.hold()
		got := []<-chan answer{send(background, l, birth("first"))}
		for i := range 63 {
			got = append(got, send(background, l, birth(event.ExecutionID(fmt.Sprint("x", i)))))
		}
		release()
		for _, g := range got {
			if r := one(t, g); r.Outcome != store.Committed {
				t.Errorf("%+v", r)
			}
		}
		if c := x.calls(); len(c) != 2 || len(c[0]) != 1 || len(c[1]) != 63 {
			t.Fatalf("calls %q", c)
		}
	})
}

// A flush holds one request an execution; what is passed over keeps its order, within
// one caller's requests and among callers.
func TestOneRequestAnExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		e := x.must(t, birth("e")).Tip
		x.forget()
		release := x.hold()
		first := send(background, l, birth("first"))
		e1, e2 := next("e", e), next("e", e)
		later := e
		later.Head++
		later.Mark = e1.Nonce
		e2.Expect, e2.Events = later, []event.Envelope{ev("e", 2, "{}")}
		batch := send(background, l, e1, e2, birth("f"))
		behind := send(background, l, birth("e")) // refused, by what stands there then
		release()
		one(t, first)
		for i, r := range now(t, batch).res {
			if r.Outcome != store.Committed {
				t.Errorf("request %d: %+v", i, r)
			}
		}
		if r := one(t, behind); r.Refusal != store.RefusedHead || r.Tip.Head != 2 {
			t.Errorf("the one behind: %+v", r)
		}
		if want := [][]string{{"first"}, {"e", "f"}, {"e"}, {"e"}}; !reflect.DeepEqual(x.calls(), want) {
			t.Fatalf("calls %q", x.calls())
		}
	})
}

// race 12: a zombie's commit under token 1 and the owner's under token 2 wait for one
// flush. Each is judged alone: the zombie is stale, and the owner goes on.
func TestRace12AZombieAndTheOwnerInOneLine(t *testing.T) {
	for _, zombieFirst := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			l, x := over(t, nil)
			tip := x.must(t, birth("e")).Tip
			claim := store.Request{Execution: "e", Nonce: nonce(), Expect: tip, Claim: &store.Claim{When: store.AnyOwner}}
			old := x.must(t, claim).Tip
			claim.Nonce, claim.Expect = nonce(), old
			fresh := x.must(t, claim).Tip
			x.forget()
			release := x.hold()
			send(background, l, birth("first"))
			var zombie, owner <-chan answer
			if zombieFirst {
				zombie = send(background, l, next("e", old))
			}
			owner = send(background, l, next("e", fresh))
			if !zombieFirst {
				zombie = send(background, l, next("e", old))
			}
			release()
			if r := one(t, zombie); r.Outcome != store.Refused || r.Refusal != store.RefusedFence {
				t.Errorf("the zombie: %+v", r)
			}
			if r := one(t, owner); r.Outcome != store.Committed || r.Tip.Fence != 2 {
				t.Errorf("the owner: %+v", r)
			}
			if want := [][]string{{"first"}, {"e"}, {"e"}}; !reflect.DeepEqual(x.calls(), want) {
				t.Errorf("calls %q", x.calls())
			}
		})
	}
}

// claim B-25: an isolated request is sent by itself, with no company, even if others
// wait before it and behind it; and nobody else is kept from sharing.
func TestAnIsolatedRequestHasNoCompany(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		release := x.hold()
		got := []<-chan answer{send(background, l, birth("first"))}
		alone, twin := birth("alone"), birth("alone")
		alone.Alone = true
		for _, r := range []store.Request{birth("a"), birth("b"), alone, birth("c"), twin, birth("d")} {
			got = append(got, send(background, l, r))
		}
		release()
		for i, g := range got {
			if r := one(t, g); (r.Outcome == store.Committed) != (i != 5) {
				t.Errorf("caller %d: %+v", i, r)
			}
		}
		want := [][]string{{"first"}, {"a", "b", "c", "d"}, {"alone"}, {"alone"}}
		if !reflect.DeepEqual(x.calls(), want) {
			t.Fatalf("calls %q", x.calls())
		}
		if !x.mu.calls[2][0].Alone || x.mu.calls[3][0].Alone {
			t.Error("the wish does not reach the store below")
		}
	})
}

// Bounds of a flush; what is larger than one travels by itself.
func TestBoundsOfAFlush(t *testing.T) {
	heavy := func(id event.ExecutionID, bytes int) store.Request {
		r := birth(id)
		r.Events[0].Payload = make([]byte, bytes)
		return r
	}
	for _, c := range []struct {
		name string
		o    coalesce.Options
		want [][]string
	}{
		{"requests", coalesce.Options{MaxRequests: 2}, [][]string{{"first"}, {"a", "b"}, {"giant", "c"}, {"d"}}},
		{"bytes", coalesce.Options{MaxBytes: 30_000}, [][]string{{"first"}, {"a", "b"}, {"giant"}, {"c", "d"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l, x := over(t, &c.o)
				release := x.hold()
				var got []<-chan answer
				for _, r := range []store.Request{birth("first"), heavy("a", 9000), heavy("b", 9000), heavy("giant", 50_000), heavy("c", 9000), heavy("d", 9000)} {
					got = append(got, send(background, l, r))
				}
				release()
				for _, g := range got {
					if r := one(t, g); r.Outcome != store.Committed {
						t.Errorf("%+v", r)
					}
				}
				if !reflect.DeepEqual(x.calls(), c.want) {
					t.Fatalf("calls %q", x.calls())
				}
			})
		})
	}
}

// Each execution belongs to one of the flushers: its requests keep their order, while
// those of others are in the air beside them.
func TestFlushersWorkBesideEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, &coalesce.Options{Flushers: 4})
		release := x.hold()
		var got []<-chan answer
		for i := range 32 {
			id := event.ExecutionID(fmt.Sprint("x", i))
			got = append(got, send(background, l, birth(id)), send(background, l, birth(id)))
		}
		if n := x.count(); n != 4 {
			t.Errorf("%d calls in the air", n)
		}
		release()
		for i, g := range got {
			if r := one(t, g); (r.Outcome == store.Committed) != (i%2 == 0) {
				t.Errorf("caller %d: %+v", i, r)
			}
		}
	})
}

// A call without requests is the store's to answer, and so is everything but Commit.
func TestTheRestPasses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		tip := x.must(t, birth("e")).Tip
		if got, err := l.Tip(background, "e"); err != nil || got != tip {
			t.Errorf("tip %+v, %v", got, err)
		}
		for e, err := range l.Read(background, "e", store.Range{}) {
			if err != nil || e.Sequence != 0 {
				t.Errorf("%+v, %v", e, err)
			}
		}
		x.forget()
		if res, err := l.Commit(background); err != nil || len(res) != 0 || x.count() != 1 {
			t.Errorf("%v, %v after %d calls", res, err, x.count())
		}
	})
}

// A store that miscounts has said nothing about anybody.
func TestAWrongNumberOfAnswersIsUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		x.answering(func(_ context.Context, reqs []store.Request) ([]store.Result, error, bool) {
			return make([]store.Result, len(reqs)+1), nil, true
		})
		if r := one(t, send(background, l, birth("e"))); r.Outcome != store.Unknown || r.Err == nil {
			t.Errorf("%+v", r)
		}
	})
}

// An error of a whole call reaches the caller of one request as it is.
func TestAClosedStoreIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		closed := fmt.Errorf("here: %w", store.ErrClosed)
		x.answering(func(context.Context, []store.Request) ([]store.Result, error, bool) { return nil, closed, true })
		for _, reqs := range [][]store.Request{{birth("a")}, {birth("a"), birth("b")}} {
			if a := now(t, send(background, l, reqs...)); a.res != nil || !errors.Is(a.err, store.ErrClosed) {
				t.Errorf("%+v, %v", a.res, a.err)
			}
		}
		if x.count() != 2 {
			t.Errorf("%d calls", x.count())
		}
	})
}
