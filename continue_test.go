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

// counting goes through n generations: each calls a step, sleeps, and receives a message
// "word" if it is asked to; the last returns what all of them received.
func counting(s *service, words bool) *loom.Flow[[]string, string] {
	return loom.NewFlow("counting", func(ctx loom.Context, in []string) (string, error) {
		if _, err := step(ctx, s, "tick"); err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
			return "", err
		}
		got := loom.NewID(ctx)
		if words {
			var err error
			if got, err = loom.Await[string](ctx, "word"); err != nil {
				return "", err
			}
		}
		if in = append(in, got); len(in) < 5 {
			return "", loom.ContinueAs(ctx, in)
		}
		return strings.Join(in, " "), nil
	})
}

func TestGenerationsAreOneExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := counting(s, false)
		rt := open(t, db, loom.Flows(flow))
		v, err := begin(t, flow, rt, nil, loom.ID("c")).Result(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, id := range strings.Fields(v) {
			ids[id] = true
		}
		log := logOf(t, db, "c")
		if s.count("tick") != 5 || len(ids) != 5 || strings.Count(kinds(log), "EXECUTION_CONTINUED") != 4 {
			t.Fatalf("%d ticks, %v, %s", s.count("tick"), ids, kinds(log))
		}
		st := stateOf(t, db, "c")
		if st.Generation != 5 || len(st.Ops) != 2 || st.Op("loom.generation#5/tick#1") == nil {
			t.Fatalf("%+v", st)
		}
		// In the commit that says so nothing of the next generation is.
		keys := map[string]bool{}
		for _, p := range payloads[event.EffectScheduled](t, db, "c") {
			keys[p.Op] = true
		}
		if len(keys) != 5 {
			t.Fatalf("%v", keys)
		}
		rep, err := loom.Replay(t.Context(), logIn(log), flow)
		if err != nil || rep.Status != fold.Completed || len(rep.Next) > 0 {
			t.Fatalf("%+v, %v", rep, err)
		}
	})
}

// race 19 and case 50: the node dies at each of its commits, in the middle of continuing
// too, while messages come to the id. Every message is received once, in order, by some
// generation; no step whose result is recorded is called again.
func TestRace19GenerationsMayLoseTheirNodeAtEachCommit(t *testing.T) {
	for _, landed := range []bool{false, true} {
		for k := 1; ; k++ {
			reached := false
			bubble(t, func(t *testing.T) {
				s, db := &service{}, memstore.New(nil)
				flow := counting(s, true)
				first, way := tapped(t, db, loom.Flows(flow))
				client := open(t, db, loom.Tuning{ClientOnly: true})
				var n atomic.Int64
				die := func(c call) {
					if n.Add(1) == int64(k) {
						reached = true
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
					_, err := flow.Start(context.Background(), first, nil, loom.ID("c"))
					started <- err
				}()
				pass(t, time.Second)
				if len(everything(t, db)) == 0 {
					begin(t, flow, client, nil, loom.ID("c"))
				}
				var want []string
				for i := range 5 {
					word := fmt.Sprint("w", i)
					want = append(want, word)
					signal(t, client, "c", "word", word, loom.MessageID(word))
					pass(t, 50*time.Second)
				}
				pass(t, 5*time.Minute)
				second := open(t, db, loom.Flows(flow))
				yields(t, attach[string](t, second, "c"), strings.Join(want, " "))
				if n := s.count("tick"); n > 6 || n < 5 {
					t.Fatalf("k=%d: %d calls", k, n)
				}
				way.release()
				<-started
			})
			if !reached {
				if k < 14 {
					t.Fatalf("only %d commits were met", k-1)
				}
				break
			}
		}
	}
}

func TestWhatContinuesAndWhatDoesNot(t *testing.T) {
	wrapped := func(ctx loom.Context, _ int) (string, error) {
		return "", fmt.Errorf("again: %w", loom.ContinueAs(ctx, 2))
	}
	for _, c := range []struct {
		name string
		body func(s *service) func(ctx loom.Context, in int) (string, error)
		want string // its result, or the beginning of its error
	}{
		{"wrapped", func(*service) func(loom.Context, int) (string, error) { return wrapped }, "again: loom: to be continued"},
		{"another input", func(*service) func(loom.Context, int) (string, error) {
			return func(ctx loom.Context, _ int) (string, error) {
				err := loom.ContinueAs(ctx, "x")
				var bad *loom.InputValidationError
				return fmt.Sprint(errors.As(err, &bad)), nil
			}
		}, "true"},
		{"an input that cannot be written", func(*service) func(loom.Context, int) (string, error) {
			return func(ctx loom.Context, _ int) (string, error) {
				err := loom.ContinueAs(ctx, make(chan int))
				var bad *loom.InputValidationError
				return fmt.Sprint(errors.As(err, &bad)), nil
			}
		}, "true"},
		{"with a cleanup", func(s *service) func(loom.Context, int) (string, error) {
			return func(ctx loom.Context, in int) (string, error) {
				err := errors.Join(loom.Cleanup(ctx, "c", func(loom.Context) error { s.call(fmt.Sprint("clean", in)); return nil }), undone(ctx, s, "undo"))
				if err != nil {
					return "", err
				}
				if in < 2 {
					return "", loom.ContinueAs(ctx, in+1)
				}
				return strings.Join(s.all(), " "), nil
			}
		}, "clean0 clean1"},
		{"with a cleanup that fails", func(s *service) func(loom.Context, int) (string, error) {
			return func(ctx loom.Context, in int) (string, error) {
				if err := loom.Cleanup(ctx, "c", func(loom.Context) error { return errors.New("broom lost") }); err != nil {
					return "", err
				}
				return "", loom.ContinueAs(ctx, in+1)
			}
		}, "c: broom lost"},
		{"with branches", func(s *service) func(loom.Context, int) (string, error) {
			return func(ctx loom.Context, in int) (string, error) {
				if in == 2 {
					return strings.Join(s.all(), " "), nil
				}
				loom.Go(ctx, "side", func(ctx loom.Context) (int, error) {
					err := loom.Sleep(ctx, "long", 24*time.Hour)
					s.call(fmt.Sprint("side ", err))
					return 0, err
				})
				if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
					return "", err
				}
				return "", loom.ContinueAs(ctx, in+1)
			}
		}, "side loom: cancelled side loom: cancelled"},
		{"with versions", func(s *service) func(loom.Context, int) (string, error) {
			return func(ctx loom.Context, in int) (string, error) {
				v := loom.Version(ctx, "c", 0, in+1)
				if s.call(fmt.Sprint(v)); in < 2 {
					return "", loom.ContinueAs(ctx, in+1)
				}
				return strings.Join(s.all(), " "), nil
			}
		}, "1 2 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &service{}
				flow := loom.NewFlow("f", c.body(s))
				v, err := begin(t, flow, open(t, memstore.New(nil), loom.Flows(flow)), 0).Result(soon(t))
				var ended *loom.ExecutionError
				if errors.As(err, &ended) {
					v = ended.Message
				}
				if !strings.HasPrefix(v, c.want) {
					t.Fatalf("%q, %v", v, err)
				}
			})
		})
	}
}

// A cancel, and a deadline, that come while the end of a generation is on its way to the
// store are heard by the next body, and not before it: what is recorded can be replayed.
func TestACancelBetweenGenerationsIsHeardByTheNext(t *testing.T) {
	for _, how := range []string{"cancel", "deadline", "terminate"} {
		bubble(t, func(t *testing.T) {
			s, db := &service{}, memstore.New(nil)
			flow := loom.NewFlow("f", func(ctx loom.Context, n int) (int, error) {
				if _, err := step(ctx, s, fmt.Sprint("a", n)); err != nil {
					return 0, err
				}
				return n, loom.ContinueAs(ctx, n+1)
			})
			rt, way := tapped(t, db, loom.Flows(flow))
			ends := shutGate(t)
			way.on(func(c call) {
				if c.op == "commit" && len(c.req.Events) > 0 && c.req.Events[len(c.req.Events)-1].Kind == event.KindExecutionContinued {
					ends.pass()
				}
			})
			var opts []loom.StartOption
			if how == "deadline" {
				opts = append(opts, loom.Deadline(time.Now().Add(time.Minute)))
			}
			run := begin(t, flow, rt, 0, append(opts, loom.ID("x"))...)
			until(t, "the end of the first generation is on its way", func() bool { return ends.waiting() == 1 })
			client := open(t, db, loom.Tuning{ClientOnly: true})
			switch how {
			case "cancel":
				if err := rt.Cancel(t.Context(), "x", ""); err != nil {
					t.Fatal(err)
				}
			case "terminate":
				go func() { _ = client.Terminate(t.Context(), "x", "it hangs") }()
			}
			pass(t, 2*time.Minute)
			ends.open()
			fails(t, run)
			log := logOf(t, db, "x")
			for i, e := range log[1:] {
				if log[i].Kind == event.KindExecutionContinued && e.Kind == event.KindCancelRequested {
					t.Fatalf("%s: %s", how, kinds(log))
				}
			}
			for n := 1; n <= len(log); n++ {
				if _, err := loom.Replay(t.Context(), logIn(log[:n]), flow); err != nil {
					t.Fatalf("%s, %d events: %v\n%s", how, n, err, kinds(log))
				}
			}
		})
	}
}

// A body that would go on for ever ends by a cancel, a deadline and a termination, and
// Close does not wait for it.
func TestAnEndlessBodyCanBeEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, db := &service{}, memstore.New(nil)
		flow := loom.NewFlow("endless", func(ctx loom.Context, n int) (int, error) {
			if _, err := loom.Do(ctx, "tick", func(context.Context) (int, error) { s.call("tick"); <-time.After(time.Millisecond); return 0, nil }); err != nil {
				return n, err
			}
			return n, loom.ContinueAs(ctx, n+1)
		})
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("a"))
		late := begin(t, flow, rt, 0, loom.ID("b"), loom.Deadline(time.Now().Add(time.Second)))
		hard := begin(t, flow, rt, 0, loom.ID("c"))
		begin(t, flow, rt, 0, loom.ID("d"))
		pass(t, time.Second/2)
		if err := errors.Join(run.Cancel(t.Context(), ""), hard.Terminate(t.Context(), "it hangs")); err != nil {
			t.Fatal(err)
		}
		cancelled(t, run)
		terminated(t, hard)
		if err := fails(t, late); !errors.Is(err, loom.ErrDeadline) {
			t.Fatal(err)
		}
		shut(t, rt)
		n := s.count("tick")
		if h := headOf(t, db, "d"); h.Owner != "" || h.State != store.StateRunning {
			t.Fatalf("%+v", h)
		}
		again := open(t, db, loom.Flows(flow))
		until(t, "d goes on", func() bool { return s.count("tick") > n+10 })
		if err := again.Terminate(t.Context(), "d", "it hangs"); err != nil {
			t.Fatal(err)
		}
		pass(t, time.Second) // the effect that ran returns
	})
}

// A body without a single wait continues without growing the stack or holding the store.
func TestABodyThatOnlyContinues(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("f", func(ctx loom.Context, n int) (int, error) {
			if n == 3000 {
				return n, nil
			}
			return n, loom.ContinueAs(ctx, n+1)
		})
		db := memstore.New(nil)
		yields(t, begin(t, flow, open(t, db, loom.Flows(flow)), 0, loom.ID("x")), 3000)
		if st := stateOf(t, db, "x"); st.Generation != 3001 || len(st.Ops) != 0 {
			t.Fatalf("%+v", st)
		}
	})
}
