package loom_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
)

// faulty opens a runtime whose way to the store breaks as the injector says.
func faulty(t *testing.T, db *memstore.DB, inj *fault.Injector, opts ...loom.Option) *loom.Runtime {
	t.Helper()
	s, err := store.Stack(store.Of(db), inj.Decorator())
	if err != nil {
		t.Fatal(err)
	}
	rt, err := loom.Open(context.Background(), store.Opened(s), opts...)
	for try := 0; err != nil && try < 20; try++ { // its lease, by chance
		rt, err = loom.Open(context.Background(), store.Opened(s), opts...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inj.Quiet()
		if err := rt.Close(); err != nil && !errors.Is(err, loom.ErrClosed) {
			t.Error(err)
		}
	})
	return rt
}

// case 12, claim H-08: whatever becomes of the k-th commit once, it is resolved by sending
// it again: no effect is repeated and nobody changes owners.
func TestACommitThatIsLostOnceRepeatsNoEffect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, act := range []fault.Act{fault.LoseReply, fault.LoseRequest, fault.Fail} {
			for k := 1; k <= 6; k++ {
				db := memstore.New(nil)
				l := &ledger{db: db}
				flow := chained(l)
				heard := &hears{}
				var mu sync.Mutex
				var n atomic.Int64
				inj := fault.New(&fault.Options{Plan: func(c *fault.Call) fault.Fault {
					mu.Lock()
					defer mu.Unlock()
					if c.Op != fault.Commit {
						return fault.Fault{}
					}
					if n.Add(1) == int64(k) {
						return fault.Fault{Act: act}
					}
					return fault.Fault{}
				}})
				rt := faulty(t, db, inj, loom.Flows(flow), heard.hooks())
				run := begin(t, flow, rt, 4, loom.ID("x"))
				yields(t, run, 4)
				l.check(t, "x", true)
				if h := headOf(t, db, "x"); h.Tip.Fence != 0 {
					t.Fatalf("%v of commit %d changed owners", act, k)
				}
				if made := inj.Made()[fault.Count{Op: fault.Commit, Act: act}]; made != 1 {
					t.Fatalf("%d faults", made)
				}
				synctest.Wait()
				reports := 0
				for _, what := range heard.all("x") {
					if what == "storage-error" {
						reports++
					}
				}
				if want := min(k-1, 1); reports != want { // a start that succeeds in the end has nothing to report
					t.Fatalf("%v of commit %d: %d reports", act, k, reports)
				}
				shut(t, rt)
			}
		}
	})
}

// A database that restarts must not repeat paid effects: an outage that is shorter than
// the lease's bound is waited out.
func TestAShortOutageRepeatsNoEffect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		l := &ledger{db: db}
		hold := shutGate(t)
		flow := loom.NewFlow("slow", func(ctx loom.Context, n int) (int, error) {
			for i := range n {
				if _, err := loom.Do(ctx, "act", func(ctx context.Context) (int, error) {
					l.call(ctx, "")
					if i == 1 {
						hold.pass()
					}
					return 0, nil
				}, loom.Args("")); err != nil {
					return i, err
				}
			}
			return n, nil
		})
		inj := fault.New(&fault.Options{Chooser: fault.Seeded(1)})
		rt := faulty(t, db, inj, loom.Flows(flow))
		run := begin(t, flow, rt, 4, loom.ID("x"))
		synctest.Wait()
		pass(t, 5*time.Second-time.Millisecond) // just before a renewal
		inj.Down(true)
		hold.open() // a result that cannot be written
		pass(t, 2*time.Second)
		inj.Down(false)
		yields(t, run, 4)
		l.check(t, "x", true)
		if h := headOf(t, db, "x"); h.Tip.Fence != 0 {
			t.Fatalf("%+v", h.Tip)
		}
	})
}

// race 28: an outage that is longer than the lease ends the run. Result says so once, and
// then follows the store; the run resumes without a restart, and what was in the air is
// called once more.
func TestALongOutageEndsTheRunWhichResumesByItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		l := &ledger{db: db}
		hold := shutGate(t)
		flow := loom.NewFlow("slow", func(ctx loom.Context, _ int) (string, error) {
			for range 3 {
				if _, err := loom.Do(ctx, "act", func(ctx context.Context) (int, error) {
					l.call(ctx, "")
					hold.pass()
					return 0, nil
				}, loom.Args("")); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		heard := &hears{}
		inj := fault.New(&fault.Options{Chooser: fault.Seeded(1)})
		rt := faulty(t, db, inj, loom.Flows(flow), heard.hooks())
		run := begin(t, flow, rt, 0, loom.ID("x"))
		synctest.Wait()
		inj.Down(true)
		hold.open()
		pass(t, 30*time.Second)
		_, err := run.Result(t.Context())
		var failed *loom.StorageWriteError
		if !errors.As(err, &failed) || failed.ID != "x" {
			t.Fatalf("first Result: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, again := run.Result(ctx)
		cancel()
		if errors.As(again, &failed) {
			t.Fatalf("Result said it twice: %v", again)
		}
		inj.Down(false)
		yields(t, run, "done")
		l.check(t, "x", false)
		if n, f := l.calls["x/act#1"], headOf(t, db, "x").Tip.Fence; n != 2 || f != 1 {
			t.Fatalf("%d calls of the step in the air, %d changes of owners", n, f)
		}
		// Nothing of the outage is in the log.
		for _, op := range stateOf(t, db, "x").Ops {
			if op.Attempts != 0 || op.Error != "" {
				t.Fatalf("%+v", op)
			}
		}
		pass(t, time.Second)
		if err := grammar(heard.all("x")); err != nil { // oracle O13
			t.Fatalf("%v: %v", err, heard.all("x"))
		}
		reports := 0
		for _, what := range heard.all("x") {
			if what == "storage-error" {
				reports++
			}
		}
		if reports != 1 {
			t.Fatalf("heard %v", heard.all("x"))
		}
	})
}

// A start during an outage fails for good or not at all, and says which.
func TestAStartDuringAnOutageIsRefusedAndCanBeRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
		db := memstore.New(nil)
		inj := fault.New(nil)
		rt := faulty(t, db, inj, loom.Flows(flow))
		inj.Down(true)
		_, err := flow.Start(t.Context(), rt, 0, loom.ID("x"))
		var failed *loom.StorageWriteError
		if !errors.As(err, &failed) || !failed.Definite {
			t.Fatal(err)
		}
		minted := begin(t, flow, rt, 0)
		inj.Down(false)
		yields(t, minted, "charge") // waited out
		yields(t, begin(t, flow, rt, 0, loom.ID("x")), "charge")
		if calls.count("charge") != 2 {
			t.Fatalf("%d charges", calls.count("charge"))
		}
	})
}

// A minted start whose first commit never lands tells whoever waits for it.
func TestAMintedStartThatNeverLandsIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) { return step(ctx, &calls, "charge") })
		db := memstore.New(nil)
		heard := &hears{}
		inj := fault.New(nil)
		rt := faulty(t, db, inj, loom.Flows(flow), heard.hooks())
		inj.Down(true)
		run := begin(t, flow, rt, 0)
		var failed *loom.StorageWriteError
		if err := run.Durable(soon(t)); !errors.As(err, &failed) {
			t.Fatalf("Durable: %v", err)
		}
		if _, err := run.Result(soon(t)); !errors.As(err, &failed) {
			t.Fatalf("Result: %v", err)
		}
		inj.Down(false)
		if _, err := run.Result(soon(t)); !errors.Is(err, loom.ErrNotFound) {
			t.Fatalf("Result again: %v", err)
		}
		if err := run.Signal(t.Context(), "m", 1); !errors.Is(err, loom.ErrNotFound) {
			t.Fatalf("Signal: %v", err)
		}
		until(t, "OnAborted", func() bool { return len(heard.errs(run.ID())) >= 2 })
		if got := heard.all(run.ID()); got[len(got)-1] != "aborted 0" || calls.count("") != 0 {
			t.Fatalf("%v, %d calls", got, calls.count(""))
		}
	})
}

// A message whose post is not answered is sent again under its id and received once.
func TestASignalIsSentAgainAndReceivedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) {
			a, err := loom.Await[string](ctx, "word")
			if err != nil {
				return "", err
			}
			_, none := loom.Await[string](ctx, "word", loom.Within(time.Minute))
			return fmt.Sprint(a, " ", errors.Is(none, loom.ErrTimeout)), nil
		})
		for _, act := range []fault.Act{fault.LoseReply, fault.LoseRequest, fault.Fail} {
			db := memstore.New(nil)
			var mu sync.Mutex
			left := 3
			inj := fault.New(&fault.Options{Plan: func(c *fault.Call) fault.Fault {
				mu.Lock()
				defer mu.Unlock()
				if c.Op == fault.Post && left > 0 {
					left--
					return fault.Fault{Act: act}
				}
				return fault.Fault{}
			}})
			rt := faulty(t, db, inj, loom.Flows(flow))
			run := begin(t, flow, rt, 0)
			signal(t, rt, run.ID(), "word", "once")
			yields(t, run, "once true")
		}
	})
}

// With faults of all kinds by chance, every step is called as often as its execution
// changed owners at most, and everything ends: oracles O5, O7 and O19 on real fibers.
func TestFaultsByChanceRepeatNothingThatIsDurable(t *testing.T) {
	for seed := range uint64(4) {
		bubble(t, func(t *testing.T) {
			db := memstore.New(nil)
			l := &ledger{db: db}
			chain, trip := chained(l), journey(l)
			var injs []*fault.Injector
			var nodes []*loom.Runtime
			for n := range uint64(2) {
				inj := fault.New(&fault.Options{Chooser: fault.Seeded(seed*10 + n),
					Rates:    fault.Rates{LoseReply: 60, LoseRequest: 60, Fail: 60, FailRead: 60, FailRenew: 200, Slow: 100},
					MaxDelay: 2 * time.Second,
					Sleep: func(ctx context.Context, d time.Duration) error {
						select {
						case <-time.After(d):
							return nil
						case <-ctx.Done():
							return context.Cause(ctx)
						}
					}})
				injs = append(injs, inj)
				nodes = append(nodes, faulty(t, db, inj, loom.Flows(chain, trip), loom.Tuning{Lease: 6 * time.Second, Unload: time.Second}))
			}
			ids := map[string]bool{}
			for i := range 12 {
				id := fmt.Sprint("x", i)
				for try := 0; !ids[id] && try < 20; try++ {
					var err error
					if i%2 == 0 {
						_, err = chain.Start(t.Context(), nodes[i%2], 5, loom.ID(id))
					} else {
						_, err = trip.Start(t.Context(), nodes[i%2], 0, loom.ID(id))
					}
					var exists *loom.ExecutionAlreadyExistsError
					ids[id] = err == nil || errors.As(err, &exists)
				}
				if i%2 == 1 {
					for nodes[0].Signal(t.Context(), id, "word", "hello", loom.MessageID("w"+id)) != nil {
						pass(t, time.Second)
					}
				}
			}
			pass(t, 2*time.Minute)
			for _, inj := range injs {
				inj.Quiet()
			}
			for id := range ids {
				var err error
				if id[len(id)-1]%2 == 0 {
					_, err = attach[int](t, nodes[0], id).Result(soon(t))
				} else {
					_, err = attach[string](t, nodes[0], id).Result(soon(t))
				}
				var failed *loom.StorageWriteError
				if errors.As(err, &failed) { // once
					_, err = attach[any](t, nodes[0], id).Result(soon(t))
				}
				if err != nil {
					t.Errorf("seed %d: %s: %v", seed, id, err)
					continue
				}
				l.check(t, id, false)
			}
			if len(ids) != 12 {
				t.Fatalf("%d executions", len(ids))
			}
		})
	}
}
