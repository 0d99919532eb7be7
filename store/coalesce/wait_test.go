package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
)

var errEnough = errors.New("enough")

// Nothing is attempted for a caller whose context was over before.
func TestNothingIsAttemptedAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		ctx, cancel := context.WithCancelCause(background)
		cancel(errEnough)
		if a := now(t, send(ctx, l, birth("e"))); a.res != nil || !errors.Is(a.err, errEnough) || x.count() != 0 {
			t.Fatalf("%+v, %v after %d calls", a.res, a.err, x.count())
		}
	})
}

// ctx ends the wait, not the write: whoever gives up in the line or in the air hears
// that the outcome is unknown, and finds it by sending again.
func TestGivingUpEndsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		ctx, cancel := context.WithCancelCause(background)
		release := x.hold()
		other := send(background, l, birth("other"))
		inLine := birth("in-line")
		given := send(ctx, l, inLine)
		cancel(errEnough)
		if r := one(t, given); r.Outcome != store.Unknown || !errors.Is(r.Err, errEnough) {
			t.Fatalf("%+v", r)
		}
		waits(t, other)
		release()
		if r := one(t, other); r.Outcome != store.Committed {
			t.Fatalf("%+v", r)
		}
		if r := one(t, send(background, l, inLine)); r.Outcome != store.Committed || !r.Again {
			t.Fatalf("sent again: %+v", r)
		}
	})
}

// A flush ends early when nobody waits for any of it, and not before.
func TestAFlushEndsWithItsLastCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		release := x.hold()
		first := send(background, l, birth("first"))
		ended := false
		x.answering(func(ctx context.Context, reqs []store.Request) ([]store.Result, error, bool) {
			if len(reqs) == 1 {
				return nil, nil, false
			}
			<-ctx.Done()
			ended = errors.Is(context.Cause(ctx), errEnough)
			return []store.Result{{Err: context.Cause(ctx)}, {Err: context.Cause(ctx)}}, nil, true
		})
		a, enda := context.WithCancelCause(background)
		b, endb := context.WithCancelCause(background)
		gota, gotb := send(a, l, birth("a")), send(b, l, birth("b"))
		release()
		one(t, first)
		enda(errEnough)
		one(t, gota)
		waits(t, gotb)
		if ended {
			t.Fatal("it ended although somebody waits")
		}
		endb(errEnough)
		if r := one(t, gotb); r.Outcome != store.Unknown || !ended {
			t.Fatalf("%+v, ended %v", r, ended)
		}
	})
}

// case 69: a caller that has given up uses its request for something else while it is on
// its way. What is written is what was handed in.
func TestARequestIsWhatItWasWhenItCame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, x := over(t, nil)
		tip := x.must(t, birth("e")).Tip
		for i := range 3 {
			if _, err := x.db.Post(background, "e", store.Message{ID: fmt.Sprint(i), Name: "n"}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(background)
		release := x.hold()
		send(background, l, birth("first"))
		reqs := []store.Request{next("e", tip)}
		reqs[0].Consume = []int64{1}
		reqs[0].Post = []store.Post{{To: "e", Message: store.Message{ID: "right"}}}
		reqs[0].Claim = &store.Claim{When: store.Unowned}
		reqs[0].Release = &store.Release{WakeAt: 7}
		want := reqs[0].Nonce
		given := send(ctx, l, reqs...)
		cancel()
		one(t, given)
		r := &reqs[0]
		r.Events[0].Payload, r.Consume[0], r.Post[0].Message.ID, r.Claim.When, r.Release.WakeAt = []byte("wrong"), 2, "wrong", 99, 8
		*r = store.Request{}
		release()
		synctest.Wait()
		head, _, err := x.db.Get(background, "e")
		if err != nil || head.Tip.Mark != want || head.Tip.Head != 1 || head.WakeAt == 8 {
			t.Fatalf("%+v, %v", head, err)
		}
		ms, _, err := x.db.Pending(background, "e", 0, 9)
		if err != nil || len(ms) != 3 || ms[0].ID != "1" || ms[2].ID != "right" {
			t.Fatalf("%+v, %v", ms, err)
		}
		for e := range x.db.Read(background, "e", store.Range{From: 1}) {
			if string(e.Payload) != "{}" {
				t.Fatalf("%s", e.Payload)
			}
		}
	})
}

// What waits is bounded: callers block, come in in their order, and may give up at the
// gate with nothing attempted. One that is too large for the bounds comes in when
// nobody else is there.
func TestBackPressure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const weight = 10_000
		l, x := over(t, &coalesce.Options{MaxBytes: weight})
		heavy := func(id string, n int) store.Request {
			r := birth(event.ExecutionID(id))
			r.Events[0].Payload = make([]byte, n)
			return r
		}
		release := x.hold()
		ctx, cancel := context.WithCancelCause(background)
		got := map[string]<-chan answer{}
		for _, id := range []string{"a", "b", "c", "d"} {
			got[id] = send(background, l, heavy(id, weight-2000))
		}
		tooMuch := send(ctx, l, heavy("e", weight))
		got["giant"] = send(background, l, heavy("giant", 9*weight))
		got["f"] = send(background, l, birth("f"))
		cancel(errEnough)
		if a := now(t, tooMuch); a.res != nil || !errors.Is(a.err, errEnough) {
			t.Fatalf("at the gate: %+v, %v", a.res, a.err)
		}
		waits(t, got["f"])
		release()
		for id, g := range got {
			if r := one(t, g); r.Outcome != store.Committed {
				t.Errorf("%s: %+v", id, r)
			}
		}
		if x.exists(t, "e") {
			t.Error("what gave up at the gate was written")
		}
		if c := x.calls(); len(c) != 6 || c[4][0] != "giant" || c[5][0] != "f" {
			t.Errorf("calls %q", c)
		}
	})
}

// A request waits for company for MaxLinger, once; with a full flush, or beside one that
// wants none, it does not wait.
func TestLinger(t *testing.T) {
	const linger = 50 * time.Millisecond
	bubble(t, func(t *testing.T) {
		l, x := over(t, &coalesce.Options{MaxLinger: linger, MaxRequests: 3})
		began := time.Now()
		a := send(background, l, birth("a"))
		waits(t, a)
		<-time.After(linger / 2)
		b := send(background, l, birth("b"))
		if res := <-a; res.err != nil || time.Since(began) != linger {
			t.Fatalf("%v after %v", res.err, time.Since(began))
		}
		one(t, b)
		c := []<-chan answer{send(background, l, birth("c")), send(background, l, birth("d")), send(background, l, birth("e"))}
		alone := birth("alone")
		for _, g := range c {
			one(t, g)
		}
		c = []<-chan answer{send(background, l, birth("g"))}
		alone.Alone = true
		c = append(c, send(background, l, alone))
		for _, g := range c {
			one(t, g)
		}
		if time.Since(began) != linger {
			t.Errorf("%v have passed", time.Since(began))
		}
		if got := fmt.Sprint(x.calls()); got != "[[a b] [c d e] [g] [alone]]" {
			t.Errorf("calls %s", got)
		}
		// The time that a flush takes counts: whoever came meanwhile has waited.
		release := x.hold()
		slow := send(background, l, birth("slow"))
		<-time.After(linger)
		late := send(background, l, birth("late"))
		<-time.After(2 * linger)
		release()
		one(t, slow)
		one(t, late)
	})
}
