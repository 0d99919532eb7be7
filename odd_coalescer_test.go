package loom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest/oddstore"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// waits holds a coalescer's batch open until exactly these executions are in it.
func waits(t *testing.T, co *oddstore.Coalescer, want ...event.ExecutionID) {
	t.Helper()
	synctest.Wait()
	if got := co.Waiting(); !slices.Equal(got, want) {
		co.Flush() // or the runtime could not be closed
		t.Fatalf("%v wait, want %v", got, want)
	}
}

// claims B-21, B-22, B-25 and B-37: a fresh start that shared a batch of the older kind with a
// duplicate: the batch wrote nothing of anyone, the duplicate is told so, and the fresh one
// is sent once more, alone although others wait, and runs once.
func TestAFreshStartInABatchWithADuplicate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		quiet := loom.NewFlow("quiet", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		co := oddstore.NewCoalescer(store.Of(db))
		heard := &hears{}
		rt, way := lined(t, co.Store(), loom.Flows(quiet, flow), heard.hooks())
		begin(t, quiet, rt, 0, loom.ID("dup"))
		pass(t, time.Second)
		way.forget()

		co.Hold()
		dup := beginning(t, quiet, rt, 0, "dup")
		fresh := beginning(t, flow, rt, 0, "fresh")
		waits(t, co, "dup", "fresh")
		before := tracesOf(t, db, "dup", heard)
		read, bystander := make(chan struct{}), shutGate(t)
		way.on(func(c call) {
			if c.op == "read" && c.id == "fresh" {
				close(read)
				bystander.pass()
			}
		})
		sent := len(co.Flushes())
		co.Flush()
		<-read
		before.same(t) // nobody's row was written, nor the neighbour's changed
		way.on(nil)

		co.Hold()
		other := beginning(t, quiet, rt, 0, "other")
		waits(t, co, "other")
		bystander.open()
		if err := fresh.answer(t); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := co.Flushes()[sent:]; len(got) != 2 || !slices.Equal(got[1], []event.ExecutionID{"fresh"}) {
			t.Fatalf("the batches were %v", got)
		}
		if got := co.Waiting(); !slices.Contains(got, "other") { // and by now the run's own next commit
			t.Fatalf("%v wait", got)
		}
		co.Flush()
		var exists *loom.ExecutionAlreadyExistsError
		if err := dup.answer(t); !errors.As(err, &exists) || exists.ID != "dup" {
			t.Fatal(err)
		}
		if err := other.answer(t); err != nil {
			t.Fatal(err)
		}
		way.asks(t, "dup", "commit", "read 0..0")
		way.began(t, "fresh", "commit", "read 0..0", "alone")
		yields(t, attach[string](t, rt, "fresh"), "done")
		bodies.is(t, "body entered", 1)
		synctest.Wait()
		var want []string
		for seq := range len(logOf(t, db, "fresh")) {
			want = append(want, fmt.Sprint("event ", seq))
		}
		got := slices.DeleteFunc(heard.all("fresh"), func(s string) bool { return s[:5] != "event" })
		if calls.count("") != 2 || !slices.Equal(got, want) || slices.Contains(heard.all("fresh"), "storage-error") {
			t.Fatalf("%d calls, heard %v", calls.count(""), heard.all("fresh"))
		}
	})
}

// explore calls run for every way to make its choices.
func explore(run func(choose func(n int) int)) (runs int) {
	var path, sizes []int
	for {
		at := 0
		run(func(n int) int {
			if at == len(path) {
				path, sizes = append(path, 0), append(sizes, n)
			}
			at++
			return path[at-1]
		})
		runs++
		last := len(path) - 1
		for last >= 0 && path[last] == sizes[last]-1 {
			last--
		}
		if last < 0 {
			return runs
		}
		path, sizes = path[:last+1], sizes[:last+1]
		path[last]++
	}
}

// claim B-26: two starts of one id in one batch with a duplicate of another are refused
// together, both read that nothing is there, and both try again. In every order of what
// they then ask the store, one runs and the other is a duplicate.
func TestTwoStartsThatFailedTogetherInEveryOrder(t *testing.T) {
	runs := explore(func(choose func(n int) int) {
		bubble(t, func(t *testing.T) { bothAgain(t, choose) })
	})
	if runs < 10 {
		t.Fatalf("only %d orders", runs)
	}
	t.Logf("tally: interleavings=%d", runs)
}

func bothAgain(t *testing.T, choose func(n int) int) {
	var bodies counter
	var calls service
	flow := worked(&bodies, &calls)
	quiet := loom.NewFlow("quiet", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
	db := memstore.New(nil)
	co := oddstore.NewCoalescer(store.Of(db))
	var rts [2]*loom.Runtime
	var ways [2]*line
	heard := [2]*hears{{}, {}}
	for i := range rts {
		rts[i], ways[i] = lined(t, co.Store(), loom.Flows(flow, quiet), heard[i].hooks())
	}
	begin(t, quiet, rts[0], 0, loom.ID("dup"))
	pass(t, time.Second)
	co.Hold()
	dup := beginning(t, quiet, rts[1], 0, "dup")
	starts := [2]*started{beginning(t, flow, rts[0], 0, "x"), beginning(t, flow, rts[1], 0, "x")}
	waits(t, co, "dup", "x", "x")

	var asks [2]chan chan struct{}
	for i := range ways {
		asks[i] = make(chan chan struct{})
		ways[i].on(func(c call) {
			if c.id == "x" {
				turn := make(chan struct{})
				asks[i] <- turn
				<-turn
			}
		})
	}
	co.Flush()
	var waiting [2]chan struct{}
	answered := func(s *started) bool { s.mu.Lock(); defer s.mu.Unlock(); return s.done }
	for {
		var ready []int
		for i := range asks {
			synctest.Wait()
			if waiting[i] == nil {
				select {
				case waiting[i] = <-asks[i]:
				default:
				}
			}
			if waiting[i] != nil {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 || answered(starts[0]) && answered(starts[1]) {
			break
		}
		i := ready[choose(len(ready))]
		close(waiting[i])
		waiting[i] = nil
	}
	for i := range ways {
		ways[i].on(nil)
		if waiting[i] != nil {
			close(waiting[i])
		}
	}
	errs := []error{starts[0].answer(t), starts[1].answer(t)}
	loser := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	var exists *loom.ExecutionAlreadyExistsError
	if loser < 0 || errs[1-loser] != nil || !errors.As(errs[loser], &exists) || exists.ID != "x" {
		t.Fatalf("the starts came to %v", errs)
	}
	ways[1-loser].began(t, "x", "commit", "read 0..0", "alone")
	if got := ways[loser].words("x"); len(got) == 2 { // the other was there when it looked
		ways[loser].asks(t, "x", "commit", "read 0..0")
	} else {
		ways[loser].asks(t, "x", "commit", "read 0..0", "alone", "read 0..0")
	}
	if err := dup.answer(t); !errors.As(err, &exists) {
		t.Fatal(err)
	}
	yields(t, attach[string](t, rts[0], "x"), "done")
	bodies.is(t, "body entered", 1)
	if calls.count("") != 2 || len(heard[loser].all("x")) != 0 {
		t.Fatalf("%d calls, the loser heard %v", calls.count(""), heard[loser].all("x"))
	}
}

// What a batch of the older kind does to a run that travels in it, as it is known of such
// a store: the run ends, although nothing is wrong with it. What Loom makes of that: no
// effect beyond what a change of owners allows, no event lost, and the node that had it
// goes on with it by itself. Stores of Loom's own end nobody's run (fate/innocents).
func TestALiveRunInABatchThatFailed(t *testing.T) {
	for _, c := range []struct {
		name   string
		guilty func(first event.Envelope, h store.Head) store.Request
		why    store.Refusal
	}{
		{"claim B-63: for a duplicate's sake", func(first event.Envelope, _ store.Head) store.Request {
			return store.Request{Execution: "old", Expect: store.Absent(), Events: []event.Envelope{first}, Index: &store.IndexEntry{Flow: "elsewhere"}}
		}, store.RefusedFence},
		{"claim B-64: for a zombie's sake", func(first event.Envelope, h store.Head) store.Request {
			h.Tip.Fence--
			return store.Request{Execution: "old", Expect: h.Tip, Events: []event.Envelope{event.New("old", 1, 2, event.CancelRequested{}, nil)}}
		}, store.RefusedFence},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				db := memstore.New(nil)
				co := oddstore.NewCoalescer(store.Of(db))
				old := seedapi.New(store.Of(db), noncesOf(1))
				first := event.New("old", 0, 1, event.ExecutionStarted{Flow: "elsewhere", Input: []byte("0"), Seed: "00"}, nil)
				if err := old.Append(t.Context(), first, store.NoFence); err != nil {
					t.Fatal(err)
				}
				if _, err := old.AcquireFence(t.Context(), "old"); err != nil {
					t.Fatal(err)
				}

				l := &ledger{db: db}
				hold := shutGate(t)
				flow := loom.NewFlow("live", func(ctx loom.Context, _ int) (string, error) {
					for _, args := range []string{"one", "two", "three"} {
						if _, err := loom.Do(ctx, args, func(ctx context.Context) (int, error) {
							l.call(ctx, args)
							hold.pass()
							return 1, nil
						}, loom.Args(args)); err != nil {
							return "", err
						}
					}
					return "done", nil
				})
				heard := &hears{}
				rt, _ := lined(t, co.Store(), loom.Flows(flow), heard.hooks())
				run := begin(t, flow, rt, 0, loom.ID("live"))
				until(t, "the first effect", func() bool { return hold.waiting() == 1 })
				co.Hold()
				hold.open()
				waits(t, co, "live")
				req := c.guilty(first, headOf(t, db, "old"))
				req.Nonce = store.Nonce{9}
				answer := make(chan store.Result, 1)
				go func() {
					res, err := co.Store().Log.Commit(context.Background(), req)
					if err != nil {
						t.Error(err)
					}
					answer <- res[0]
				}()
				waits(t, co, "live", "old")
				before := tracesOf(t, db, "live")
				co.Flush()
				if res := <-answer; res.Outcome != store.Refused || res.Refusal != c.why {
					t.Fatalf("the guilty one was told %+v", res)
				}
				before.same(t) // claim B-22: the batch wrote nothing
				aborted := slices.DeleteFunc(heard.all("live"), func(s string) bool { return !strings.HasPrefix(s, "aborted") })
				if !slices.Equal(aborted, []string{"aborted 2"}) {
					t.Fatalf("heard %v", heard.all("live"))
				}
				yields(t, run, "done")
				l.check(t, "live", false)
				if h := headOf(t, db, "live"); h.Tip.Fence != 1 || len(logOf(t, db, "old")) != 1 {
					t.Fatalf("%+v; %d events of the other", h.Tip, len(logOf(t, db, "old")))
				}
			})
		})
	}
}

// noncesOf returns a source of nonces of its own.
func noncesOf(space byte) func() store.Nonce {
	n := byte(0)
	return func() store.Nonce {
		n++
		return store.Nonce{space, 0xA7, n}
	}
}
