package loom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// family is a parent that spawns n children, which each wait for a message "go", and then
// gets what they return; opts go to each child.
func family(n int, opts ...loom.ChildOption) (parent *loom.Flow[int, string], child *loom.Flow[int, string]) {
	child = loom.NewFlow("child", func(ctx loom.Context, i int) (string, error) {
		word, err := loom.Await[string](ctx, "go")
		if word == "fail" {
			err = fmt.Errorf("as told: %w", loom.Code("told"))
		}
		return fmt.Sprint(word, i), err
	})
	parent = loom.NewFlow("parent", func(ctx loom.Context, _ int) (string, error) {
		var children []*loom.Child[string]
		for i := range n {
			c, err := child.Spawn(ctx, i, opts...)
			if err != nil {
				return "", err
			}
			children = append(children, c)
		}
		var got []string
		for _, c := range children {
			v, err := c.Get(ctx)
			if err != nil {
				return strings.Join(got, " "), err
			}
			got = append(got, v)
		}
		return strings.Join(got, " "), nil
	})
	return parent, child
}

// childrenOf returns the ids of the children that an execution has asked for.
func childrenOf(t *testing.T, db *memstore.DB, id string) (ids []string) {
	t.Helper()
	for _, p := range payloads[event.ChildScheduled](t, db, id) {
		ids = append(ids, string(p.Execution))
	}
	return ids
}

func TestAParentGetsWhatItsChildrenReturn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		parent, child := family(3)
		rt := open(t, db, loom.Flows(parent, child), loom.Tuning{Unload: time.Second})
		run := begin(t, parent, rt, 0, loom.ID("p"))
		pass(t, 5*time.Second)
		ids := childrenOf(t, db, "p")
		if len(ids) != 3 || headOf(t, db, "p").Owner != "" {
			t.Fatalf("%v, owner %q", ids, headOf(t, db, "p").Owner)
		}
		for i, id := range []string{ids[2], ids[0], ids[1]} {
			s, err := rt.Summary(t.Context(), id)
			if err != nil || s.Parent != "p" || !strings.HasPrefix(id, "p/") {
				t.Fatalf("%+v, %v", s, err)
			}
			signal(t, rt, id, "go", string(rune('a'+i)))
			pass(t, 5*time.Second) // the parent is woken, and parked again
		}
		yields(t, run, "b0 c1 a2")
		if got := kinds(logOf(t, db, "p")); strings.Count(got, "CHILD_STARTED") != 3 || strings.Count(got, "CHILD_SETTLED") != 3 {
			t.Fatal(got)
		}
		if ms, _, _ := db.Pending(t.Context(), "p", 0, 9); len(ms) != 0 {
			t.Fatalf("%d messages are left", len(ms))
		}
	})
}

func TestAChildsErrorComesBackTyped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		parent, child := family(1)
		rt := open(t, db, loom.Flows(parent, child))
		run := begin(t, parent, rt, 0, loom.ID("p"))
		pass(t, time.Second)
		id := childrenOf(t, db, "p")[0]
		signal(t, rt, id, "go", "fail")
		if err := fails(t, run); !errors.Is(err, loom.Code("told")) || err.Status != fold.Failed || !strings.Contains(err.Message, id) {
			t.Fatalf("%+v", err)
		}
		run = begin(t, parent, rt, 0, loom.ID("q"))
		pass(t, time.Second)
		if err := rt.Terminate(t.Context(), childrenOf(t, db, "q")[0], "it hangs"); err != nil {
			t.Fatal(err)
		}
		if err := fails(t, run); !errors.Is(err, loom.ErrTerminated) {
			t.Fatalf("%+v", err)
		}
	})
}

// case 11: a child whose id is taken fails the child's call in its parent; nothing loops,
// and whoever has the id is left alone.
func TestAChildWhoseIDIsTakenIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		other := loom.NewFlow("other", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "go") })
		parent, child := family(1, loom.ID("taken"))
		rt := open(t, db, loom.Flows(parent, child, other))
		theirs := begin(t, other, rt, 0, loom.ID("taken"))
		pass(t, time.Second)
		before := len(logOf(t, db, "taken"))
		run := begin(t, parent, rt, 0, loom.ID("p"))
		err := fails(t, run)
		if !errors.Is(err, loom.ErrAlreadyExists) {
			t.Fatalf("%+v", err)
		}
		if got := kinds(logOf(t, db, "p")); got != "EXECUTION_STARTED CHILD_SCHEDULED CHILD_SETTLED EXECUTION_FAILED" {
			t.Fatal(got)
		}
		second := begin(t, parent, rt, 0, loom.ID("p2")) // a child of another parent is another execution, too
		if err := fails(t, second); !errors.Is(err, loom.ErrAlreadyExists) {
			t.Fatalf("%+v", err)
		}
		if len(logOf(t, db, "taken")) != before {
			t.Fatal("the execution that has the id was touched")
		}
		signal(t, rt, "taken", "go", "on")
		yields(t, theirs, "on")
	})
}

// races 17 and 18: the parent's node, and the child's, die at each of their commits, before
// the store has it and after; another one finishes. Each child is one execution, its body's
// effect is called once more at most, and the parent gets its result once.
func TestRace17And18AFamilyMayLoseItsNodeAtEachCommit(t *testing.T) {
	for _, landed := range []bool{false, true} {
		for k := 1; ; k++ {
			var reached atomic.Bool
			bubble(t, func(t *testing.T) {
				s, db := &service{}, memstore.New(nil)
				child := loom.NewFlow("child", func(ctx loom.Context, i int) (string, error) {
					return step(ctx, s, fmt.Sprint("child", i))
				})
				parent := loom.NewFlow("parent", func(ctx loom.Context, _ int) (string, error) {
					a, err := child.Spawn(ctx, 1)
					if err != nil {
						return "", err
					}
					b, err := child.Child(ctx, 2)
					if err != nil {
						return "", err
					}
					v, err := a.Get(ctx)
					return v + " " + b, err
				})
				first, way := tapped(t, db, loom.Flows(parent, child))
				var n atomic.Int64
				die := func(call) {
					if n.Add(1) == int64(k) {
						reached.Store(true)
						way.kill()
					}
				}
				if landed {
					way.onAnswer(func(c call, _ store.Result) {
						die(c)
						_ = way.alive()
					})
				} else {
					way.on(func(c call) {
						if c.op == "commit" {
							die(c)
						}
					})
				}
				started := make(chan error, 1)
				go func() {
					_, err := parent.Start(context.Background(), first, 0, loom.ID("p"))
					started <- err
				}()
				pass(t, 10*time.Second)
				second := open(t, db, loom.Flows(parent, child))
				if len(everything(t, db)) == 0 {
					begin(t, parent, second, 0, loom.ID("p"))
				}
				yields(t, attach[string](t, second, "p"), "child1 child2")
				ids := childrenOf(t, db, "p")
				if got := everything(t, db); len(got) != 3 || len(ids) != 2 {
					t.Fatalf("k=%d: %v", k, got)
				}
				for i, id := range ids {
					if n := s.count(fmt.Sprint("child", i+1)); n > 2 || n == 2 && !reached.Load() {
						t.Fatalf("k=%d: child %d was called %d times", k, i+1, n)
					}
					if strings.Count(kinds(logOf(t, db, id)), "EXECUTION_COMPLETED") != 1 {
						t.Fatal(kinds(logOf(t, db, id)))
					}
				}
				if got := kinds(logOf(t, db, "p")); strings.Count(got, "CHILD_SETTLED") != 2 || strings.Count(got, "CHILD_STARTED") != 2 {
					t.Fatalf("k=%d: %s", k, got)
				}
				way.release()
				<-started
			})
			if !reached.Load() {
				if k < 9 {
					t.Fatalf("only %d commits were met", k-1)
				}
				break
			}
		}
	}
}

// What a cancel of the parent does to a child is the child's policy.
func TestACancelReachesChildrenByTheirPolicy(t *testing.T) {
	for _, c := range []struct {
		policy loom.CancelPolicy
		child  fold.Status
		log    string
	}{
		{loom.RequestCancel, fold.Cancelled, "CANCEL_REQUESTED CHILD_SETTLED EXECUTION_CANCELLED"},
		{loom.Abandon, fold.Running, "CANCEL_REQUESTED EXECUTION_CANCELLED"},
		{loom.KeepWaiting, fold.Completed, "CANCEL_REQUESTED CHILD_SETTLED EXECUTION_COMPLETED"},
	} {
		for _, parked := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				db := memstore.New(nil)
				parent, child := family(1, loom.OnParentCancel(c.policy))
				tune := loom.Tuning{Unload: time.Hour}
				if parked {
					tune.Unload = time.Second
				}
				rt := open(t, db, loom.Flows(parent, child), tune)
				run := begin(t, parent, rt, 0, loom.ID("p"))
				pass(t, 10*time.Second)
				if err := run.Cancel(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				pass(t, 10*time.Second)
				id := childrenOf(t, db, "p")[0]
				if c.policy == loom.KeepWaiting {
					signal(t, rt, id, "go", "on")
					yields(t, run, "on0")
				} else {
					cancelled(t, run)
				}
				if s := stateOf(t, db, id); s.Status != c.child {
					t.Fatalf("policy %d: the child is %s", c.policy, s.Status)
				}
				if got := kinds(logOf(t, db, "p")); !strings.HasSuffix(got, c.log) {
					t.Fatalf("policy %d: %s", c.policy, got)
				}
			})
		}
	}
}

// A cancel that comes while a child's start is on its way: Spawn says what came of the
// start, whatever the policy, and an abandoned child goes on.
func TestACancelWhileAChildIsBeingStarted(t *testing.T) {
	for _, policy := range []loom.CancelPolicy{loom.RequestCancel, loom.Abandon, loom.KeepWaiting} {
		bubble(t, func(t *testing.T) {
			db := memstore.New(nil)
			_, child := family(0)
			parent := loom.NewFlow("parent", func(ctx loom.Context, _ int) (string, error) {
				c, err := child.Spawn(ctx, 7, loom.OnParentCancel(policy))
				if err != nil {
					return "", fmt.Errorf("not started: %w", err)
				}
				v, err := c.Get(ctx)
				return fmt.Sprint(v, " ", errors.Is(err, loom.ErrCancelled)), nil
			})
			rt, way := tapped(t, db, loom.Flows(parent, child))
			starts := shutGate(t)
			way.on(func(c call) {
				if c.op == "commit" && c.req.Index != nil && c.req.Index.Parent == "p" {
					starts.pass()
				}
			})
			run := begin(t, parent, rt, 0, loom.ID("p"))
			until(t, "the start is on its way", func() bool { return starts.waiting() == 1 })
			if err := run.Cancel(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			pass(t, time.Minute)
			starts.open()
			pass(t, time.Minute)
			id := childrenOf(t, db, "p")[0]
			want := " true"
			if policy == loom.KeepWaiting {
				want = "on7 false"
				signal(t, rt, id, "go", "on")
			}
			yields(t, run, want)
			if s := stateOf(t, db, id).Status; (s == fold.Running) != (policy == loom.Abandon) {
				t.Fatalf("policy %d: the child is %s", policy, s)
			}
			if op := stateOf(t, db, "p").Op("child#1"); op.Open() || !op.Started {
				t.Fatalf("%+v", op)
			}
			if _, err := loom.Replay(t.Context(), logIn(logOf(t, db, "p")), parent); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// case 53: a child is cancelled, and then its parent, at once: both are cancelled.
func TestCase53ChildAndParentCancelledAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		parent, child := family(2)
		rt := open(t, db, loom.Flows(parent, child))
		run := begin(t, parent, rt, 0, loom.ID("p"))
		pass(t, time.Second)
		ids := childrenOf(t, db, "p")
		for _, id := range []string{ids[0], "p", ids[0], ids[1]} {
			if err := rt.Cancel(t.Context(), id, ""); err != nil && !errors.Is(err, loom.ErrEnded) {
				t.Fatal(err) // it may have given way already, the parent by its child's end
			}
		}
		if err := fails(t, run); !errors.Is(err, loom.ErrCancelled) {
			t.Fatal(err)
		}
		for _, id := range ids {
			cancelled(t, attach[string](t, rt, id))
		}
	})
}

// case 54: the middle one of three has a cleanup that starts a child; the root is
// cancelled; everything is driven by nodes that come and go. Its log replays.
func TestCase54ACancelledMiddleCleansUpWithAChild(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		sweep := loom.NewFlow("sweep", func(ctx loom.Context, _ int) (string, error) {
			if err := loom.Sleep(ctx, "nap", 20*time.Second); err != nil {
				return "", err
			}
			return step(ctx, s, "swept")
		})
		middle := loom.NewFlow("middle", func(ctx loom.Context, _ int) (string, error) {
			err := loom.Cleanup(ctx, "sweep", func(ctx loom.Context) error { _, err := sweep.Child(ctx, 0); return err })
			return "", errors.Join(err, loom.Sleep(ctx, "nap", 24*time.Hour))
		})
		root := loom.NewFlow("root", func(ctx loom.Context, _ int) (string, error) { return middle.Child(ctx, 0) })
		flows := loom.Flows(root, middle, sweep)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		begin(t, root, client, 0, loom.ID("r"))
		visit := func(d time.Duration) {
			rt := open(t, db, flows, loom.Tuning{Unload: time.Second})
			pass(t, d)
			shut(t, rt)
		}
		visit(5 * time.Second)
		if err := client.Cancel(t.Context(), "r", ""); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			visit(5 * time.Second)
		}
		cancelled(t, attach[string](t, client, "r"))
		if got := strings.Join(s.all(), " "); got != "swept" {
			t.Fatal(got)
		}
		mid := childrenOf(t, db, "r")[0]
		rep, err := loom.Replay(t.Context(), logIn(logOf(t, db, mid)), middle)
		if err != nil || rep.Status != fold.Cancelled {
			t.Fatalf("%+v, %v", rep, err)
		}
	})
}

// A child that nobody waits for goes on when its parent has ended, and what it has to say
// then lands nowhere.
func TestASpawnedChildOutlivesItsParent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		_, child := family(0)
		parent := loom.NewFlow("parent", func(ctx loom.Context, _ int) (string, error) {
			c, err := child.Spawn(ctx, 7)
			if err != nil {
				return "", err
			}
			return c.ID(), nil
		})
		rt := open(t, db, loom.Flows(parent, child))
		id, err := begin(t, parent, rt, 0, loom.ID("p")).Result(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		before := headOf(t, db, "p")
		signal(t, rt, id, "go", "on")
		yields(t, attach[string](t, rt, id), "on7")
		if h := headOf(t, db, "p"); h.Mail != before.Mail || h.Tip != before.Tip {
			t.Fatalf("%+v", h)
		}
	})
}

// A parent that was deleted and started anew under its id has children of its own, and
// hears nothing of its predecessor's.
func TestChildrenOfAnEarlierIncarnationAreStrangers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		_, child := family(0)
		parent := loom.NewFlow("parent", func(ctx loom.Context, wait bool) (string, error) {
			c, err := child.Spawn(ctx, 0)
			if err != nil || !wait {
				return "", err
			}
			return c.Get(ctx)
		})
		rt := open(t, db, loom.Flows(parent, child))
		yields(t, begin(t, parent, rt, false, loom.ID("p")), "")
		old := childrenOf(t, db, "p")[0]
		erase(t, db, "p")
		run := begin(t, parent, rt, true, loom.ID("p"))
		pass(t, time.Second)
		young := childrenOf(t, db, "p")[0]
		if old == young {
			t.Fatal("two incarnations share a child")
		}
		signal(t, rt, old, "go", "old")
		pass(t, time.Minute)
		signal(t, rt, young, "go", "young")
		yields(t, run, "young0")
	})
}

// Long ids leave room for children, and for children of theirs.
func TestChildrenOfLongIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		var nest *loom.Flow[int, int]
		nest = loom.NewFlow("nest", func(ctx loom.Context, depth int) (int, error) {
			if depth == 0 {
				return 0, nil
			}
			n, err := nest.Child(ctx, depth-1)
			return n + 1, err
		})
		rt := open(t, db, loom.Flows(nest))
		yields(t, begin(t, nest, rt, 12, loom.ID(strings.Repeat("x", 200))), 12)
		ids := everything(t, db)
		if len(ids) != 13 {
			t.Fatalf("%d executions", len(ids))
		}
		for _, id := range ids {
			if err := event.ExecutionID(id).Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// While the store refuses to start a child, its parent tries again, and Close does not
// wait for it.
func TestAChildIsTriedUntilTheStoreTakesIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		parent, child := family(1)
		rt, way := tapped(t, db, loom.Flows(parent, child))
		var up atomic.Bool
		way.answering(func(c call) (store.Result, bool) {
			if c.op == "commit" && c.req.Index != nil && c.req.Index.Parent == "p" && !up.Load() {
				return store.Result{Outcome: store.Failed, Err: errors.New("no room")}, true
			}
			return store.Result{}, false
		})
		run := begin(t, parent, rt, 0, loom.ID("p"))
		pass(t, time.Minute)
		if got := kinds(logOf(t, db, "p")); got != "EXECUTION_STARTED CHILD_SCHEDULED" {
			t.Fatal(got)
		}
		up.Store(true)
		pass(t, time.Minute)
		signal(t, rt, childrenOf(t, db, "p")[0], "go", "on")
		yields(t, run, "on0")
	})
}
