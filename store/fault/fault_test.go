package fault_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
)

// TestEveryPartHasAnAnswer fails when a part is added that nobody decided about.
func TestEveryPartHasAnAnswer(t *testing.T) {
	const wrap, pass = "wrap", "pass"
	table := map[store.Part]string{
		store.PartLog: wrap, store.PartIndex: wrap, store.PartLeaser: wrap, store.PartInbox: wrap,
		store.PartRecords: wrap, store.PartDeleter: wrap, store.PartTrimmer: pass, store.PartFeed: pass,
		store.PartSnapshots: pass, store.PartBlobs: pass, store.PartHints: pass, store.PartAbout: pass,
	}
	in := store.Of(memstore.New(nil))
	out, err := store.Stack(in, fault.New(nil).Decorator())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range store.Parts() {
		if table[p] == "" {
			t.Errorf("no answer for part %s", p)
		}
		if in.Has(p) != out.Has(p) {
			t.Errorf("part %s: in %v, out %v", p, in.Has(p), out.Has(p))
		}
		if !in.Has(p) {
			continue
		}
		a, b := reflect.ValueOf(in).FieldByName(string(p)), reflect.ValueOf(out).FieldByName(string(p))
		if same := a.Elem().Type() == b.Elem().Type(); same != (table[p] == pass) {
			t.Errorf("part %s is not %sed", p, table[p])
		}
	}
}

type bench struct {
	store, direct store.Store
	inj           *fault.Injector
}

func setup(t *testing.T, o *fault.Options) bench {
	t.Helper()
	b := bench{direct: store.Of(memstore.New(nil)), inj: fault.New(o)}
	s, err := store.Stack(b.direct, b.inj.Decorator())
	if err != nil {
		t.Fatal(err)
	}
	b.store = s
	return b
}

func start(id event.ExecutionID, nonce byte) store.Request {
	p := event.ExecutionStarted{Flow: "f", Input: []byte("1"), Seed: "00"}
	return store.Request{
		Execution: id, Nonce: store.Nonce{nonce}, Expect: store.Absent(), Index: &store.IndexEntry{Flow: "f"},
		Events: []event.Envelope{event.New(id, 0, 1, p, nil)}, Release: &store.Release{WakeAt: event.Never},
	}
}

func (b bench) exists(t *testing.T, id event.ExecutionID) bool {
	t.Helper()
	tip, err := b.direct.Log.Tip(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tip.Exists()
}

func TestEachRequestHasAFaultOfItsOwn(t *testing.T) {
	acts := map[event.ExecutionID]fault.Act{
		"pass": fault.Pass, "reply": fault.LoseReply, "request": fault.LoseRequest, "fail": fault.Fail,
	}
	b := setup(t, &fault.Options{Plan: func(c *fault.Call) fault.Fault { return fault.Fault{Act: acts[c.Execution]} }})
	ids := []event.ExecutionID{"fail", "pass", "reply", "request"}
	var reqs []store.Request
	for i, id := range ids {
		reqs = append(reqs, start(id, byte(i+1)))
	}
	res, err := b.store.Log.Commit(t.Context(), reqs...)
	if err != nil {
		t.Fatal(err)
	}
	want := []store.Outcome{store.Failed, store.Committed, store.Unknown, store.Unknown}
	for i, id := range ids {
		if res[i].Outcome != want[i] || (res[i].Err == nil) != (id == "pass") {
			t.Errorf("%s: %v, %v", id, res[i].Outcome, res[i].Err)
		}
		if landed := id == "pass" || id == "reply"; b.exists(t, id) != landed {
			t.Errorf("%s: exists %v", id, !landed)
		}
	}
	b.inj.Plan(nil)
	again, err := b.store.Log.Commit(t.Context(), reqs[2])
	if err != nil || again[0].Outcome != store.Committed || !again[0].Again {
		t.Errorf("a lost reply is not resolved by resending: %+v, %v", again, err)
	}
	for _, id := range ids[2:] {
		if n := b.inj.Made()[fault.Count{Op: fault.Commit, Act: acts[id]}]; n != 1 {
			t.Errorf("%v counted %d times", acts[id], n)
		}
	}
}

func TestADownStoreDoesNothing(t *testing.T) {
	b := setup(t, &fault.Options{Chooser: fault.Seeded(3)})
	b.inj.Down(true)
	seen := map[store.Outcome]bool{}
	for i := range byte(20) {
		res, err := b.store.Log.Commit(t.Context(), start("x", i+1))
		if err != nil {
			t.Fatal(err)
		}
		seen[res[0].Outcome] = true
		var fe *fault.Error
		if !errors.As(res[0].Err, &fe) || !fe.Down || fe.Unknown != (res[0].Outcome == store.Unknown) {
			t.Errorf("%v with %v", res[0].Outcome, res[0].Err)
		}
	}
	if !seen[store.Failed] || !seen[store.Unknown] || len(seen) != 2 {
		t.Errorf("outcomes %v", seen)
	}
	if _, err := b.store.Leaser.Renew(t.Context(), "n", time.Second, nil); err == nil {
		t.Error("a lease was renewed")
	}
	for _, err := range b.store.Log.Read(t.Context(), "x", store.Range{}) {
		if err == nil {
			t.Error("an event was read")
		}
	}
	if b.exists(t, "x") {
		t.Error("a write landed")
	}
	b.inj.Down(false)
	if res, _ := b.store.Log.Commit(t.Context(), start("x", 99)); res[0].Outcome != store.Committed {
		t.Error("not up again")
	}
}

func TestLostPostsAndBrokenReads(t *testing.T) {
	b := setup(t, &fault.Options{Chooser: fault.ChooserFunc(func(string, int) int { return 1 })})
	if _, err := b.store.Log.Commit(t.Context(), start("x", 1)); err != nil {
		t.Fatal(err)
	}
	for _, act := range []fault.Act{fault.LoseRequest, fault.Fail, fault.LoseReply} {
		b.inj.Plan(func(*fault.Call) fault.Fault { return fault.Fault{Act: act} })
		r, err := b.store.Inbox.Post(t.Context(), "x", store.Message{ID: "m", Name: "n", Body: []byte("1")})
		if err == nil || r != (store.Receipt{}) {
			t.Errorf("%v: %+v, %v", act, r, err)
		}
		ms, _, err := b.direct.Inbox.Pending(t.Context(), "x", 0, 9)
		if err != nil || len(ms) != map[bool]int{true: 1}[act == fault.LoseReply] {
			t.Errorf("%v: %d messages, %v", act, len(ms), err)
		}
	}
	b.inj.Plan(func(*fault.Call) fault.Fault { return fault.Fault{Act: fault.LoseReply} }) // of a read: it fails
	got := 0
	var last error
	for _, err := range b.store.Log.Read(t.Context(), "x", store.Range{}) {
		if err == nil {
			got++
		}
		last = err
	}
	if got != 1 || last == nil {
		t.Errorf("%d events, then %v", got, last)
	}
}

// TestLateWriteOutlivesItsCaller is the first half of race 26: the wait ends, the
// first copy is still on its way.
func TestLateWriteOutlivesItsCaller(t *testing.T) {
	var pending []func()
	gone := errors.New("gone")
	var slept []time.Duration
	b := setup(t, &fault.Options{
		Plan:  func(*fault.Call) fault.Fault { return fault.Fault{Act: fault.Late, Delay: time.Minute} },
		Spawn: func(fn func()) { pending = append(pending, fn) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			slept = append(slept, d)
			return context.Cause(ctx)
		},
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	res, err := b.store.Log.Commit(ctxEndsInSleep{ctx, cancel, gone}, start("x", 1))
	if err != nil || res[0].Outcome != store.Unknown || !errors.Is(res[0].Err, gone) {
		t.Fatalf("%+v, %v", res, err)
	}
	if b.exists(t, "x") {
		t.Fatal("it was not late")
	}
	for _, fn := range pending {
		fn()
	}
	if !b.exists(t, "x") || !slices.Contains(slept, time.Minute) {
		t.Fatalf("it never came; slept %v", slept)
	}
}

// ctxEndsInSleep is a context that ends once it was found alive.
type ctxEndsInSleep struct {
	context.Context
	cancel context.CancelCauseFunc
	cause  error
}

func (c ctxEndsInSleep) Err() error {
	err := c.Context.Err()
	c.cancel(c.cause)
	return err
}

func TestSameSeedSameFaults(t *testing.T) {
	run := func() (outcomes []store.Outcome, made map[fault.Count]int) {
		b := setup(t, &fault.Options{Chooser: fault.Seeded(5), Rates: fault.Rates{LoseReply: 200, LoseRequest: 200, Fail: 200, Slow: 200, Late: 200}})
		for i := range byte(200) {
			res, err := b.store.Log.Commit(t.Context(), start("x", i+1))
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, res[0].Outcome)
		}
		return outcomes, b.inj.Made()
	}
	a, made := run()
	c, again := run()
	if !slices.Equal(a, c) || !reflect.DeepEqual(made, again) {
		t.Fatal("two runs of one seed differ")
	}
	for _, act := range []fault.Act{fault.LoseReply, fault.LoseRequest, fault.Fail} {
		if n := made[fault.Count{Op: fault.Commit, Act: act}]; n < 20 || n > 60 {
			t.Errorf("%v made %d times of 200 at one in five", act, n)
		}
	}
}
