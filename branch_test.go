package loom_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// run1 runs a flow to its end on a store of its own and returns its result.
func run1[Out any](t *testing.T, body func(ctx loom.Context) (Out, error)) (Out, *memstore.DB, string, error) {
	t.Helper()
	flow := loom.NewFlow("one", func(ctx loom.Context, _ int) (Out, error) { return body(ctx) })
	db := memstore.New(nil)
	rt := open(t, db, loom.Flows(flow))
	run := begin(t, flow, rt, 0)
	out, err := run.Result(soon(t))
	return out, db, run.ID(), err
}

func TestBranchesRunBesideEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := shutGate(t)
		shared := 0
		flow := loom.NewFlow("par", func(ctx loom.Context, n int) (int, error) {
			var fs []*loom.Future[int]
			for i := range n {
				fs = append(fs, loom.Go(ctx, "b", func(ctx loom.Context) (int, error) {
					v, err := loom.Do(ctx, "x", func(context.Context) (int, error) { hold.pass(); return i, nil })
					shared += v // no lock: one branch of an execution runs at a time
					return v, err
				}))
			}
			_, err := loom.All(ctx, fs...)
			return shared, err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 20)
		until(t, "twenty effects at once", func() bool { return hold.waiting() == 20 })
		hold.open()
		yields(t, run, 190)
	})
}

func TestAllGivesValuesAndJoinsErrorsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got, _, _, err := run1(t, func(ctx loom.Context) (string, error) {
			branch := func(v int, err error, d time.Duration) *loom.Future[int] {
				return loom.Go(ctx, "b", func(ctx loom.Context) (int, error) { return v, errors.Join(loom.Sleep(ctx, "s", d), err) })
			}
			vs, err := loom.All(ctx, branch(1, nil, 3), branch(2, errors.New("two"), 2), branch(3, errors.New("three"), 1), branch(4, nil, 0))
			return fmt.Sprintf("%v %v", vs, strings.ReplaceAll(err.Error(), "\n", "+")), nil
		})
		if err != nil || got != "[1 2 3 4] two+three" {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

// First gives what settled first in log order, and the same after a restart.
func TestFirstGivesTheFirstInLogOrderAlsoInReplay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("race", func(ctx loom.Context, _ int) (string, error) {
			var fs []*loom.Future[string]
			for i, d := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
				fs = append(fs, loom.Go(ctx, "b", func(ctx loom.Context) (string, error) {
					if err := loom.Sleep(ctx, "s", d); err != nil {
						return "", err
					}
					if i == 1 {
						return "", errDeclined
					}
					return fmt.Sprint(i), nil
				}))
			}
			i, err := loom.First(ctx, fs...)
			if _, werr := loom.Await[bool](ctx, "go"); werr != nil {
				return "", werr
			}
			v, gerr := fs[2].Get(ctx) // a loser runs on
			return fmt.Sprintf("%d %v %s %v", i, err, v, gerr), nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("r"))
		pass(t, 5*time.Second)
		shut(t, rt)
		rt = open(t, db, loom.Flows(flow))
		signal(t, rt, "r", "go", true)
		yields(t, attach[string](t, rt, "r"), "1 loom: card_declined 2 <nil>")
	})
}

func TestFirstOfNothingIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got, _, _, err := run1(t, func(ctx loom.Context) (string, error) {
			i, err := loom.First[int](ctx)
			return fmt.Sprint(i, err != nil), nil
		})
		if err != nil || got != "-1 true" {
			t.Fatal(got, err)
		}
	})
}

// A cancelled branch gives way: its timer and await end, its effect's context ends
// and is waited for; other branches do not notice.
func TestAFuturesCancelReachesThatBranchAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got, _, _, err := run1(t, func(ctx loom.Context) (string, error) {
			sleeper := loom.Go(ctx, "sleeper", func(ctx loom.Context) (int, error) { return 0, loom.Sleep(ctx, "s", time.Hour) })
			waiter := loom.Go(ctx, "waiter", func(ctx loom.Context) (int, error) { return loom.Await[int](ctx, "m") })
			worker := loom.Go(ctx, "worker", func(ctx loom.Context) (string, error) {
				v, err := loom.Do(ctx, "w", func(ctx context.Context) (string, error) {
					<-ctx.Done()
					return "settled " + fmt.Sprint(ctx.Err() == context.Canceled), nil
				})
				if err != nil {
					return "", err
				}
				return v, loom.Sleep(ctx, "more", time.Hour)
			})
			parent := loom.Go(ctx, "parent", func(ctx loom.Context) (error, error) {
				child := loom.Go(ctx, "child", func(ctx loom.Context) (int, error) { return 0, loom.Sleep(ctx, "s", time.Hour) })
				_, err := child.Get(ctx)
				return err, nil
			})
			other := loom.Go(ctx, "other", func(ctx loom.Context) (int, error) { return 7, loom.Sleep(ctx, "s", time.Second) })
			if err := loom.Sleep(ctx, "begin", time.Millisecond); err != nil {
				return "", err
			}
			for _, cancel := range []func(loom.Context) error{sleeper.Cancel, waiter.Cancel, worker.Cancel, parent.Cancel, sleeper.Cancel} {
				if err := cancel(ctx); err != nil {
					return "", err
				}
			}
			_, a := sleeper.Get(ctx)
			_, b := waiter.Get(ctx)
			c, d := worker.Get(ctx)
			e, _ := parent.Get(ctx)
			f, g := other.Get(ctx)
			return fmt.Sprintf("%v|%v|%v %v|%v|%v %v", a, b, c, d, e, f, g), nil
		})
		want := "loom: cancelled|loom: cancelled|settled true loom: cancelled|loom: cancelled|7 <nil>"
		if err != nil || got != want {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func TestABranchsPanicIsItsFuturesError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got, _, _, err := run1(t, func(ctx loom.Context) (string, error) {
			f := loom.Go(ctx, "boom", func(loom.Context) (int, error) { panic("kettle") })
			_, err := f.Get(ctx)
			var p *loom.PanicError
			g := loom.Go(ctx, "exit", func(loom.Context) (int, error) { runtime.Goexit(); return 0, nil })
			_, exited := g.Get(ctx)
			return fmt.Sprint(errors.As(err, &p) && p.Message == "kettle" && len(p.Stack) > 0, errors.Is(exited, loom.Code(event.CodeExited)), f.Done()), nil
		})
		if err != nil || got != "true true true" {
			t.Fatal(got, err)
		}
	})
}

// A body that returns with open branches cancels them and waits until they have
// unwound; only then the execution ends.
func TestAnEndWaitsForOpenBranches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var order service
		flow := loom.NewFlow("leaves", func(ctx loom.Context, _ int) (string, error) {
			loom.Go(ctx, "worker", func(ctx loom.Context) (int, error) {
				defer order.call("unwound")
				_, err := loom.Do(ctx, "w", func(ctx context.Context) (int, error) {
					<-ctx.Done()
					<-time.After(5 * time.Second)
					order.call("settled")
					return 1, nil
				})
				return 0, err
			})
			if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
				return "", err
			}
			order.call("returned")
			return "done", nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("l"))
		yields(t, run, "done")
		if got := strings.Join(order.all(), " "); got != "returned settled unwound" {
			t.Fatal(got)
		}
		if log := kinds(logOf(t, db, "l")); !strings.HasSuffix(log, "EFFECT_COMPLETED EXECUTION_COMPLETED") {
			t.Fatal(log)
		}
	})
}

// case 21: the identity of a step does not depend on what happened to be fast.
func TestIdentityFollowsTheBranchNotTheTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		paths := func(slow int) string {
			var got []string
			_, db, id, err := run1(t, func(ctx loom.Context) (int, error) {
				var fs []*loom.Future[int]
				for i := range 2 {
					fs = append(fs, loom.Go(ctx, "b", func(ctx loom.Context) (int, error) {
						for range 2 {
							if _, err := loom.Do(ctx, "x", func(context.Context) (int, error) {
								if i == slow {
									<-time.After(time.Second)
								}
								return 0, nil
							}); err != nil {
								return 0, err
							}
						}
						return 0, nil
					}))
				}
				_, err := loom.All(ctx, fs...)
				return 0, err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range stateOf(t, db, id).Ops {
				got = append(got, op.Path)
			}
			return strings.Join(got, " ")
		}
		if a, b := paths(0), paths(1); a != "b#1/x#1 b#2/x#1 b#2/x#2 b#1/x#2" || b != "b#1/x#1 b#2/x#1 b#1/x#2 b#2/x#2" {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

// A branch that never began must not outlive its execution either.
func TestAnUnloadedExecutionLeavesNoBranchBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("deep", func(ctx loom.Context, n int) (int, error) {
			var fs []*loom.Future[int]
			for range n {
				fs = append(fs, loom.Go(ctx, "b", func(ctx loom.Context) (int, error) { return loom.Await[int](ctx, "m") }))
			}
			_, err := loom.All(ctx, fs...)
			return n, err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		begin(t, flow, rt, 50)
		synctest.Wait()
		shut(t, rt) // the bubble fails if a goroutine stays
	})
}
