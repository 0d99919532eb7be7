package loom_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

// desk is a flow that adds up what it is asked to, with a step for each, until it receives
// "close". It is never changed: a golden log is of it.
func desk(s *service) *loom.Flow[int, int] {
	return loom.NewFlow("golden-desk", func(ctx loom.Context, sum int) (int, error) {
		serving := loom.Go(ctx, "serving", func(ctx loom.Context) (int, error) {
			return 0, loom.Serve(ctx, "add", func(ctx loom.Context, n int) (string, error) {
				if n < 0 {
					return "", fmt.Errorf("no: %w", busyError{n})
				}
				if _, err := step(ctx, s, fmt.Sprint("add-", n)); err != nil {
					return "", err
				}
				sum += n
				return fmt.Sprint("sum ", sum), nil
			})
		})
		if _, err := loom.Await[int](ctx, "close"); err != nil {
			return sum, err
		}
		if err := serving.Cancel(ctx); err != nil {
			return sum, err
		}
		if _, err := serving.Get(ctx); !errors.Is(err, loom.ErrCancelled) {
			return sum, errors.Join(err, errors.New("it was not serving"))
		}
		return sum, nil
	})
}

// ask makes a request that must be answered.
func ask(t *testing.T, rt *loom.Runtime, id string, n int, want string, opts ...loom.SignalOption) {
	t.Helper()
	if got, err := loom.Ask[int, string](soon(t), rt, id, "add", n, opts...); err != nil || got != want {
		t.Fatalf("asked %s for %d: %q, %v; want %q", id, n, got, err, want)
	}
}

// Requests are answered in the order in which they come, from any node, in memory and
// parked, also one that came before anybody served (case 47); a repeat under its id has the
// answer of the first, also after the end, and its handler does not run again.
func TestRequestsAreAnswered(t *testing.T) {
	for _, unload := range []time.Duration{time.Second, time.Hour} {
		bubble(t, func(t *testing.T) {
			var s service
			flow := desk(&s)
			db := memstore.New(nil)
			client := open(t, db, loom.Flows(flow), loom.Tuning{ClientOnly: true})
			begin(t, flow, client, 0, loom.ID("golden-desk"))
			early := make(chan string, 1)
			go func() {
				got, err := loom.Ask[int, string](context.Background(), client, "golden-desk", "add", 1, loom.MessageID("r-1"))
				early <- fmt.Sprint(got, " ", err)
			}()
			pass(t, time.Minute)
			rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: unload})
			if got := <-early; got != "sum 1 <nil>" {
				t.Fatal(got)
			}
			ask(t, rt, "golden-desk", 2, "sum 3", loom.MessageID("r-2"))
			pass(t, time.Minute)
			ask(t, client, "golden-desk", 3, "sum 6", loom.MessageID("r-3"))
			ask(t, rt, "golden-desk", 2, "sum 3", loom.MessageID("r-2"))
			_, err := loom.Ask[int, string](soon(t), client, "golden-desk", "add", -4, loom.MessageID("r-4"))
			var answer *loom.AnswerError
			var busy busyError
			if !errors.As(err, &answer) || answer.Request != "r-4" || !errors.As(err, &busy) || busy.Line != -4 || errors.Is(err, loom.ErrEnded) {
				t.Fatal(err)
			}
			signal(t, client, "golden-desk", "close", 1, loom.MessageID("m-1"))
			yields(t, attach[int](t, client, "golden-desk"), 6)
			ask(t, client, "golden-desk", 1, "sum 1", loom.MessageID("r-1"))
			ask(t, rt, "golden-desk", 9, "sum 6", loom.MessageID("r-3"))
			if got := fmt.Sprint(s.all()); got != "[add-1 add-2 add-3]" {
				t.Fatal(got)
			}
			var none *loom.UnansweredError
			for _, opts := range [][]loom.SignalOption{nil, {loom.MessageID("r-5")}} {
				_, err = loom.Ask[int, string](soon(t), client, "golden-desk", "add", 1, opts...)
				if !errors.As(err, &none) || none.Received || !errors.Is(err, loom.ErrEnded) {
					t.Fatal(err)
				}
			}
			log := logOf(t, db, "golden-desk")
			var file strings.Builder
			if err := event.WriteLog(&file, logIn(log)); err != nil {
				t.Fatal(err)
			}
			golden := readGolden(t, "desk-1.0.0.log", file.String())
			if got, want := kinds(log), kinds(golden); got != want {
				t.Fatalf("written:\n%s\nrecorded:\n%s", got, want)
			}
		})
	}
}

// The node dies at each of its commits, before the store has it and after. The asker, who
// has not heard, asks again under the same id: there is one answer, and what the handler
// did is recorded once.
func TestARequestSurvivesACrashAtEachCommit(t *testing.T) {
	for _, landed := range []bool{false, true} {
		for k := 1; ; k++ {
			reached := false
			bubble(t, func(t *testing.T) {
				db := memstore.New(nil)
				l := &ledger{db: db}
				flow := loom.NewFlow("desk", func(ctx loom.Context, _ int) (int, error) {
					return 0, loom.Serve(ctx, "add", func(ctx loom.Context, n int) (string, error) {
						args := fmt.Sprint(n)
						v, err := loom.Do(ctx, "act", func(ctx context.Context) (string, error) { l.call(ctx, args); return args, nil }, loom.Args(args))
						if err != nil {
							return "", err
						}
						return "did " + v, loom.Sleep(ctx, "nap", time.Second)
					})
				})
				client := open(t, db, loom.Flows(flow), loom.Tuning{ClientOnly: true})
				begin(t, flow, client, 0, loom.ID("j"))
				first, way := tapped(t, db, loom.Flows(flow))
				var n atomic.Int64
				die := func(c call) {
					if c.op != "commit" {
						return
					}
					if n.Add(1) == int64(k) {
						reached = true
						way.kill()
					}
				}
				if landed {
					way.onAnswer(func(c call, _ store.Result) { die(c); _ = way.alive() })
				} else {
					way.on(die)
				}
				asked := make(chan struct{})
				go func() {
					defer close(asked)
					_, _ = loom.Ask[int, string](context.Background(), first, "j", "add", 7, loom.MessageID("r"))
				}()
				pass(t, 5*time.Second)
				second := open(t, db, loom.Flows(flow))
				ask(t, client, "j", 7, "did 7", loom.MessageID("r"))
				ask(t, second, "j", 8, "did 8")
				if got := payloads[event.RequestAnswered](t, db, "j"); len(got) != 2 || got[0].Request != "r" {
					t.Fatalf("k=%d: %+v", k, got)
				}
				if err := client.Cancel(t.Context(), "j", ""); err != nil {
					t.Fatal(err)
				}
				fails(t, attach[int](t, second, "j"))
				l.check(t, "j", false)
				way.release()
				<-asked
			})
			if !reached {
				if k < 5 {
					t.Fatalf("only %d commits were met", k-1)
				}
				break
			}
		}
	}
}

// Whatever becomes of a handler, or of the execution, is a definite answer.
func TestEveryRequestHasADefiniteAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("odd", func(ctx loom.Context, _ int) (int, error) {
			return 0, loom.Serve(ctx, "do", func(ctx loom.Context, what string) (any, error) {
				switch what {
				case "panic":
					panic("unlucky")
				case "exit":
					runtime.Goexit()
				case "large":
					return strings.Repeat("x", 2000), nil
				case "channel":
					return make(chan int), nil
				case "wait":
					return nil, loom.Sleep(ctx, "nap", time.Hour)
				}
				return what, nil
			})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{MaxPayload: 1000})
		begin(t, flow, rt, 0, loom.ID("x"))
		for what, code := range map[any]string{"panic": event.CodePanic, "exit": event.CodeExited, "large": event.CodeTooLarge, "channel": "invalid_input", 7: "invalid_input"} { // order does not matter: each stands for itself
			_, err := loom.Ask[any, string](soon(t), rt, "x", "do", what)
			var answer *loom.AnswerError
			if !errors.As(err, &answer) || answer.Code != code {
				t.Errorf("%v: %v", what, err)
			}
		}
		if got, err := loom.Ask[string, string](soon(t), rt, "x", "do", "fine"); got != "fine" || err != nil {
			t.Fatal(got, err)
		}
		var invalid *loom.InputValidationError
		if _, err := loom.Ask[string, int](soon(t), rt, "x", "do", "no number"); !errors.As(err, &invalid) {
			t.Fatal(err)
		}
		for id, want := range map[string]error{"none": loom.ErrNotFound, "no good": nil} { // order does not matter: each stands for itself
			if _, err := loom.Ask[int, int](soon(t), rt, id, "do", 1); err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: %v", id, err)
			}
		}
		var bad *loom.NameError
		for _, name := range []string{"", "no good", "loom.x", strings.Repeat("x", 56)} {
			if _, err := loom.Ask[int, int](soon(t), rt, "x", name, 1); !errors.As(err, &bad) {
				t.Errorf("%q: %v", name, err)
			}
		}

		// Cancelled meanwhile, by its handler and by nobody.
		type answer struct{ err error }
		answers := make(chan answer, 2)
		for _, name := range []string{"do", "nobody"} {
			go func() {
				_, err := loom.Ask[string, string](context.Background(), rt, "x", name, "wait")
				answers <- answer{err}
			}()
			pass(t, time.Minute)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := loom.Ask[string, string](ctx, rt, "x", "do", "wait"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
		if err := rt.Cancel(t.Context(), "x", ""); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			a := <-answers
			var handled *loom.AnswerError
			var none *loom.UnansweredError
			if !(errors.As(a.err, &handled) && errors.Is(a.err, loom.ErrCancelled)) && !(errors.As(a.err, &none) && !none.Received) {
				t.Errorf("%v", a.err)
			}
		}
		if s := stateOf(t, db, "x"); s.Status != fold.Cancelled {
			t.Fatal(s.Status)
		}
	})
}

// An execution that is terminated answers nothing any more, and who asked hears that.
func TestARequestThatWasReceivedAndIsNeverAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		hold := shutGate(t)
		flow := loom.NewFlow("held", func(ctx loom.Context, _ int) (int, error) {
			return 0, loom.Serve(ctx, "do", func(ctx loom.Context, _ int) (string, error) {
				return loom.Do(ctx, "act", func(context.Context) (string, error) { s.call("act"); hold.pass(); return "", nil })
			})
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		begin(t, flow, rt, 0, loom.ID("x"))
		asked := make(chan error, 1)
		go func() {
			_, err := loom.Ask[int, string](context.Background(), rt, "x", "do", 1, loom.MessageID("r"))
			asked <- err
		}()
		until(t, "the handler acts", func() bool { return s.count("act") == 1 })
		if err := rt.Terminate(t.Context(), "x", "enough"); err != nil {
			t.Fatal(err)
		}
		hold.open()
		for _, err := range []error{<-asked, func() error {
			_, err := loom.Ask[int, string](soon(t), rt, "x", "do", 1, loom.MessageID("r"))
			return err
		}()} {
			var none *loom.UnansweredError
			if !errors.As(err, &none) || !none.Received || none.Request != "r" {
				t.Fatal(err)
			}
		}
	})
}

// case 51: a body that continues as new answers those whose handlers have begun, and leaves
// the others to the next generation: whoever asks hears of one of the two. Repeats have
// their answers from whatever generation gave it.
func TestRequestsAcrossGenerations(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s service
		flow := loom.NewFlow("generations", func(ctx loom.Context, n int) (int, error) {
			serving := loom.Go(ctx, "serving", func(ctx loom.Context) (int, error) {
				return 0, loom.Serve(ctx, "do", func(ctx loom.Context, what string) (string, error) {
					s.call(fmt.Sprint(what, n))
					if what == "slow" {
						return "", loom.Sleep(ctx, "nap", time.Hour)
					}
					return step(ctx, &s, fmt.Sprint(what, "-by-", n))
				})
			})
			_, err := loom.Await[int](ctx, "next")
			if err != nil {
				return n, err
			}
			_ = serving
			return n, loom.ContinueAs(ctx, n+1)
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, 1, loom.ID("x"))
		asked := make(chan string, 20)
		put := func(what, id string) {
			go func() {
				got, err := loom.Ask[string, string](context.Background(), rt, "x", "do", what, loom.MessageID(id))
				if errors.Is(err, loom.ErrCancelled) {
					err = errors.New("gave way")
				}
				asked <- fmt.Sprint(id, " ", got, err)
			}()
		}
		put("a", "r1")
		put("slow", "r2")
		pass(t, time.Minute)
		signal(t, rt, "x", "next", 1)
		put("b", "r3") // to the one or the other
		pass(t, time.Minute)
		put("c", "r4")
		put("a", "r1")
		pass(t, time.Minute)
		close(asked)
		got := map[string]int{}
		for a := range asked {
			got[a]++
		}
		b := got["r3 b-by-1<nil>"] + got["r3 b-by-2<nil>"]
		if got["r1 a-by-1<nil>"] != 2 || got["r2 gave way"] != 1 || got["r4 c-by-2<nil>"] != 1 || b != 1 || len(got) != 4 {
			t.Fatalf("%v", got)
		}
		for _, e := range payloads[event.RequestAnswered](t, db, "x") {
			s.call("answered " + e.Request)
		}
		for _, id := range []string{"r1", "r2", "r3", "r4"} {
			if s.count("answered "+id) != 1 {
				t.Errorf("%s has %d answers", id, s.count("answered "+id))
			}
		}
	})
}
