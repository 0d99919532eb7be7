package loom_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest/oddstore"
)

// lossy answers the first so many commits of an execution with "unknown", landed or not,
// and tells somebody before.
type lossy struct {
	store.Log
	mu     sync.Mutex
	id     event.ExecutionID
	left   int
	lands  bool
	before func() // what is done before such an answer
}

func (l *lossy) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	l.mu.Lock()
	loses := reqs[0].Execution == l.id && l.left > 0
	if loses {
		l.left--
	}
	l.mu.Unlock()
	if !loses {
		return l.Log.Commit(ctx, reqs...)
	}
	if l.lands {
		if _, err := l.Log.Commit(context.WithoutCancel(ctx), reqs...); err != nil {
			return nil, err
		}
	}
	if l.before != nil {
		l.before()
	}
	return []store.Result{{Outcome: store.Unknown, Err: errors.Join(errors.New("connection reset"), context.Cause(ctx))}}, nil
}

// claim H-08: a start lands, its answer is lost, and its second sending shares a batch of
// the older kind with a duplicate, for whose sake it is refused. Sequence 0 is there, and
// it is its own: sent again, alone, it is known as committed, and no false already-exists
// leaves it without a driver.
func TestALostStartIsNotRefusedForItsNeighbour(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		quiet := loom.NewFlow("quiet", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		db := memstore.New(nil)
		co := oddstore.NewCoalescer(store.Of(db))
		s := co.Store()
		s.Log = &lossy{Log: s.Log, id: "x", left: 1, lands: true, before: co.Hold}
		heard := &hears{}
		rt, way := lined(t, s, loom.Flows(flow, quiet), heard.hooks())
		begin(t, quiet, rt, 0, loom.ID("dup"))
		pass(t, time.Second) // it waits for its word, and commits no more
		start := beginning(t, flow, rt, 0, "x")
		until(t, "the second sending", func() bool { return len(co.Waiting()) == 1 })
		dup := beginning(t, quiet, rt, 0, "dup")
		waits(t, co, "x", "dup")
		co.Flush()
		if err := start.answer(t); err != nil {
			t.Fatal(err)
		}
		var exists *loom.ExecutionAlreadyExistsError
		if err := dup.answer(t); !errors.As(err, &exists) || exists.ID != "dup" {
			t.Fatal(err)
		}
		way.began(t, "x", "commit", "commit", "alone")
		if reqs := way.of("x"); reqs[0].req.Nonce != reqs[2].req.Nonce {
			t.Fatal("it was sent under another nonce")
		}
		yields(t, attach[string](t, rt, "x"), "done")
		bodies.is(t, "body entered", 1)
		if h := headOf(t, db, "x"); h.Tip.Fence != 0 || calls.count("") != 2 {
			t.Fatalf("%+v, %d calls", h.Tip, calls.count(""))
		}
	})
}

// claim H-08: any commit of a run may lose its answer up to three times in a row, landed or
// not, and is known again: nothing is repeated and nobody changes owners.
func TestAnyCommitMayLoseItsAnswerSeveralTimes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, act := range []fault.Act{fault.LoseReply, fault.LoseRequest} {
			for times := 1; times <= 3; times++ {
				for k := 1; k <= 6; k++ {
					db := memstore.New(nil)
					l := &ledger{db: db}
					flow := chained(l)
					var mu sync.Mutex
					var nonces []store.Nonce // of the commits of x, each once
					lost := 0
					inj := fault.New(&fault.Options{Plan: func(c *fault.Call) fault.Fault {
						mu.Lock()
						defer mu.Unlock()
						if c.Op != fault.Commit {
							return fault.Fault{}
						}
						if n := c.Request.Nonce; len(nonces) == 0 || nonces[len(nonces)-1] != n {
							nonces = append(nonces, n)
						}
						if len(nonces) == k && lost < times {
							lost++
							return fault.Fault{Act: act}
						}
						return fault.Fault{}
					}})
					node := faulty(t, db, inj, loom.Flows(flow))
					yields(t, begin(t, flow, node, 4, loom.ID("x")), 4)
					l.check(t, "x", true)
					if h := headOf(t, db, "x"); h.Tip.Fence != 0 || lost != times {
						t.Fatalf("%v of commit %d, %d times: %+v, lost %d", act, k, times, h.Tip, lost)
					}
					shut(t, node)
				}
			}
		}
	})
}

// claim H-08: two nodes with one frozen clock and one seed start one id with one input, so
// that their envelopes have the same bytes. Whoever landed, and however often its answer
// was lost, is told so; the other is a duplicate; one body runs.
func TestTwoStartsOfTheSameBytesWithLostAnswers(t *testing.T) {
	for times := 0; times <= 3; times++ {
		for _, lands := range []bool{true, false} {
			bubble(t, func(t *testing.T) {
				var bodies counter
				var calls service
				flow := worked(&bodies, &calls)
				db := memstore.New(nil)
				var errs [2]error
				var sent [2]event.Envelope
				var wg sync.WaitGroup
				for i := range errs {
					s := store.Of(db)
					l := &line{}
					s.Log = lineLog{&lossy{Log: s.Log, id: "x", left: times, lands: lands}, l}
					s.Hints = nil
					d := &dice{Real: rt.NewReal(), seeds: newDice(1).seeds, other: newDice(byte(7 + i)).other} // a nonce each
					node, err := loom.Open(rt.With(t.Context(), d), store.Opened(s), loom.Flows(flow))
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = node.Close() })
					wg.Go(func() {
						_, errs[i] = flow.Start(t.Context(), node, 0, loom.ID("x"))
						sent[i] = l.of("x")[0].req.Events[0]
					})
				}
				wg.Wait()
				if !sent[0].Equal(sent[1]) {
					t.Fatalf("they are not alike: %+v, %+v", sent[0], sent[1])
				}
				loser := 0
				if errs[0] == nil {
					loser = 1
				}
				var exists *loom.ExecutionAlreadyExistsError
				if errs[1-loser] != nil || !errors.As(errs[loser], &exists) || !exists.SameRequest {
					t.Fatalf("%d lost, landed %v: %v", times, lands, errs)
				}
				until(t, "the end", func() bool { return headOf(t, db, "x").State.Terminal() })
				bodies.is(t, "body entered", 1)
				if calls.count("") != 2 || headOf(t, db, "x").Tip.Fence != 0 {
					t.Fatalf("%d calls", calls.count(""))
				}
			})
		}
	}
}

// claim H-27: the caller gives up at each question that its start asks of the store, as the
// question is put or as its answer is due, and the store may go on all the same. In the
// end there is one body or none, and starting again tells which.
func TestACallerMayGiveUpAtEachQuestion(t *testing.T) {
	points := 0
	for _, landed := range []bool{false, true} { // a commit whose caller is gone lands all the same
		for _, trouble := range []string{"none", "unknown", "foreign conflict"} {
			for k := 1; k <= 4; k++ {
				t.Run(fmt.Sprintf("%s, landed %v, question %d", trouble, landed, k), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						var bodies counter
						var calls service
						flow := worked(&bodies, &calls)
						db := memstore.New(nil)
						s := store.Of(db)
						wide := oddstore.NewStoreWide(s.Log)
						s.Log = wide
						switch trouble {
						case "unknown":
							s.Log = &lossy{Log: wide, id: "x", left: 2, lands: landed}
						case "foreign conflict":
							wide.Take("x-0")
						}
						if landed {
							s.Log = stubborn{s.Log}
						}
						rt, way := lined(t, s, loom.Flows(flow))
						ctx, cancel := context.WithCancelCause(t.Context())
						var mu sync.Mutex
						asked := 0
						way.on(func(c call) {
							mu.Lock()
							defer mu.Unlock()
							if asked++; asked == k {
								cancel(errDeclined)
							}
							if asked == 2 { // the other execution gives its id back
								wide.Free("x-0")
							}
						})
						run, err := flow.Start(ctx, rt, 0, loom.ID("x"))
						way.on(nil)
						mu.Lock()
						early := asked < k
						mu.Unlock()
						if early { // the start was over before
							if err != nil {
								t.Fatal(err)
							}
						} else {
							points++
						}
						var failed *loom.StorageWriteError
						if (run == nil) != (err != nil) || err != nil && (!errors.As(err, &failed) || failed.ID != "x" || !errors.Is(err, errDeclined)) {
							t.Fatalf("%v, %v", run, err)
						}
						there := len(everything(t, db)) == 1
						if err != nil && failed.Definite && there {
							t.Fatalf("it exists, and the error says that nothing was written: %v", err)
						}
						if !there {
							wide.Free("x-0")
						}
						_, err = flow.Start(t.Context(), rt, 0, loom.ID("x"))
						var exists *loom.ExecutionAlreadyExistsError
						if errors.As(err, &exists) != there || err != nil && !there {
							t.Fatalf("there %v, starting again: %v", there, err)
						}
						pass(t, time.Minute) // a start that nobody drives is found
						yields(t, attach[string](t, rt, "x"), "done")
						bodies.is(t, "body entered", 1)
						if calls.count("") != 2 {
							t.Fatalf("%d calls", calls.count(""))
						}
						cancel(nil)
					})
				})
			}
		}
	}
	if points < 12 {
		t.Fatalf("the caller gave up at %d points only", points)
	}
}

// stubborn carries commits out although their caller is gone, and then tells it nothing.
type stubborn struct{ store.Log }

func (s stubborn) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	res, err := s.Log.Commit(context.WithoutCancel(ctx), reqs...)
	if ctx.Err() == nil || err != nil {
		return res, err
	}
	for i := range res {
		res[i] = store.Result{Outcome: store.Unknown, Err: context.Cause(ctx)}
	}
	return res, nil
}
