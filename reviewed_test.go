package loom_test

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// Each of these was found by reading the code, and fails without its fix.

// Close ends although commits fail for good while the lease is renewed: a full disk, with
// room for one row.
func TestCloseGivesUpOnCommitsThatNeverArrive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := newTap(t, memstore.New(nil))
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "m") })
		rt := openTap(t, x, loom.Flows(flow), loom.Tuning{CloseGrace: time.Minute})
		begin(t, flow, rt, 1, loom.ID("a"))
		pass(t, time.Second)
		x.answering(func(call) (store.Result, bool) {
			return store.Result{Outcome: store.Failed, Err: errors.New("disk full")}, true
		})
		closed := make(chan error, 1)
		go func() { closed <- rt.Close() }()
		pass(t, time.Hour)
		select {
		case <-closed:
		default:
			t.Error("Close has not returned after an hour")
			x.answering(nil)
			<-closed
		}
	})
}

// A hook that ends its goroutine, as t.FailNow does, or that never returns, takes nothing
// with it but itself.
func TestAHookThatEndsOrHangsTakesNothingWithIt(t *testing.T) {
	for name, hook := range map[string]func(){"ends": runtime.Goexit, "hangs": func() { <-time.After(1000 * time.Hour) }} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := newTap(t, memstore.New(nil))
				flow := loom.NewFlow("one", func(loom.Context, int) (int, error) { return 1, nil })
				rt := openTap(t, x, loom.Flows(flow), loom.Hooks{OnStorageError: func(event.ExecutionID, error) { hook() }})
				var n atomic.Int32
				x.answering(func(call) (store.Result, bool) {
					return store.Result{Outcome: store.Failed, Err: errors.New("hiccup")}, n.Add(1) == 1
				})
				began := time.Now()
				if got, err := begin(t, flow, rt, 1).Result(t.Context()); err != nil || got != 1 {
					t.Errorf("got %d, %v", got, err)
				}
				if d := time.Since(began); d > 2*loom.HookBudget {
					t.Errorf("the hook held the execution for %v", d)
				}
				if err := rt.Close(); err != nil {
					t.Error(err)
				}
				pass(t, 1001*time.Hour)
			})
		})
	}
}

// An instant that no Duration reaches is far away, and neither now nor never looked at.
func TestFarInstantsAreFar(t *testing.T) {
	far := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		opts []loom.StartOption
		at   time.Time
	}{
		"sleep":    {nil, far},
		"deadline": {[]loom.StartOption{loom.Deadline(far)}, time.Time{}},
		"delay":    {[]loom.StartOption{loom.Delay(math.MaxInt64)}, time.Time{}},
		"beyond":   {nil, time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := newTap(t, memstore.New(nil))
				var looks atomic.Int64
				tooMany := make(chan struct{})
				x.on(func(k call) {
					if k.op == "runnable" && looks.Add(1) == 5000 {
						close(tooMany) // a loop that never sleeps would stop this bubble's time
						runtime.Goexit()
					}
				})
				flow := loom.NewFlow("far", func(ctx loom.Context, _ int) (int, error) {
					if !c.at.IsZero() {
						return 0, loom.SleepUntil(ctx, "s", c.at)
					}
					return loom.Await[int](ctx, "m")
				})
				rt := openTap(t, x, loom.Flows(flow), loom.Tuning{Unload: time.Second})
				run := begin(t, flow, rt, 1, c.opts...)
				select {
				case <-time.After(10 * time.Minute):
				case <-tooMany:
					t.Fatal("the scanner spins")
				}
				if s, err := rt.Summary(t.Context(), run.ID()); err != nil || s.Status != "running" {
					t.Errorf("%+v, %v", s, err)
				}
			})
		})
	}
}

// What cannot work is refused at once.
func TestTuningThatCannotWorkIsRefused(t *testing.T) {
	for _, tune := range []loom.Tuning{{Lease: 1}, {Scan: 1}, {Lease: -1}, {MaxPayload: -1}, {Unload: -time.Second}} {
		if rt, err := loom.Open(t.Context(), memstore.New(nil), tune); err == nil {
			t.Errorf("%+v was accepted", tune)
			rt.Close()
		}
	}
}
