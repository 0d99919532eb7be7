package loomtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

// TestEffectsThatDoRealIOWork: a real server, and goroutines that the effect waits for.
func TestEffectsThatDoRealIOWork(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	defer srv.Close()
	fetch := loom.NewFlow("fetch", func(ctx loom.Context, n int) (string, error) {
		return loom.Do(ctx, "get", func(ctx context.Context) (string, error) {
			pages := make([]string, n)
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					req, _ := http.NewRequestWithContext(ctx, "GET", fmt.Sprint(srv.URL, "/", i), nil)
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						pages[i] = err.Error()
						return
					}
					defer res.Body.Close()
					raw, _ := io.ReadAll(res.Body)
					pages[i] = string(raw)
				})
			}
			wg.Wait()
			return strings.Join(pages, " "), nil
		}, loom.Timeout(time.Second))
	})
	loomtest.Seeds(t, 3, func(e *loomtest.Env) {
		run, err := fetch.Start(e.Context(), e.Open(loom.Flows(fetch)), 3)
		if err != nil {
			t.Fatal(err)
		}
		yields(t, e, run, "/0 /1 /2")
	})
}

// TestOneSeedIsOneRun, with two nodes, a crash and two clients; other seeds are others.
func TestOneSeedIsOneRun(t *testing.T) {
	logs := map[string]bool{}
	for range 2 {
		loomtest.Seeds(t, 20, func(e *loomtest.Env) {
			e.Step("charge").Takes(2 * time.Second).Always("p")
			a, b := e.Open(loom.Flows(order)), e.Open(loom.Flows(order))
			var waits []func()
			for i, rt := range []*loom.Runtime{a, b} {
				waits = append(waits, e.Go("client", func() {
					run, err := order.Start(e.Context(), rt, "k", loom.ID(fmt.Sprint("id-", i)))
					if err != nil {
						t.Error(err)
						return
					}
					_ = run.Signal(e.Context(), "word", i)
				}))
			}
			for _, wait := range waits {
				wait()
			}
			e.Sleep(time.Second)
			e.Crash(a)
			e.Sleep(40 * 24 * time.Hour)
			text := fmt.Sprint("seed ", e.Seed())
			for i := range 2 {
				for _, env := range e.Log(fmt.Sprint("id-", i)) {
					text += fmt.Sprintf("\n%s %d %s %s %s", env.ID(), env.Time, env.Kind, env.Payload, env.Meta)
				}
			}
			if !strings.Contains(text, "id-0-6") || !strings.Contains(text, "id-1-6") {
				t.Errorf("they have not ended: %s", text)
			}
			logs[text] = true
		})
	}
	if len(logs) != 20 {
		t.Errorf("20 seeds, each run twice, gave %d runs", len(logs))
	}
}

// TestSeedsSaysWhichSeedFails, and how to run it again.
func TestSeedsSaysWhichSeedFails(t *testing.T) {
	seen := 0
	text := failing(t, func(t testing.TB) {
		loomtest.Seeds(t, 10, func(e *loomtest.Env) {
			if seen++; e.Seed() == 7 {
				t.Errorf("the seventh")
			}
		})
	})
	says(t, text, "seed 7 of 10", "LOOMTEST_SEED=7 go test -run")
	if seen != 7 {
		t.Errorf("%d runs", seen)
	}
	t.Setenv("LOOMTEST_SEED", "9")
	loomtest.Seeds(t, 10, func(e *loomtest.Env) { seen = int(e.Seed()) })
	if seen != 9 {
		t.Errorf("LOOMTEST_SEED=9 ran seed %d", seen)
	}
	t.Setenv("LOOMTEST_SEED", "nine")
	says(t, failing(t, func(t testing.TB) { loomtest.Run(t, func(*loomtest.Env) {}) }), "LOOMTEST_SEED=nine is no number")
}

// TestWhoHoldsTheWorldIsNamed: an effect that waits for what only the test could send, or
// for the end of its context, does not hang the test.
func TestWhoHoldsTheWorldIsNamed(t *testing.T) {
	ch := make(chan int)
	defer close(ch)
	for name, wait := range map[string]func(ctx context.Context){
		"channel": func(context.Context) { <-ch },
		"context": func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-ch:
			}
		},
	} {
		text := failing(t, func(t testing.TB) {
			loomtest.RunFor(t, 200*time.Millisecond, 0, func(e *loomtest.Env) {
				holds := loom.NewFlow("holds", func(ctx loom.Context, _ int) (int, error) {
					return loom.Do(ctx, "hold", func(ctx context.Context) (int, error) { holdsTheWorld(ctx, wait); return 0, nil })
				})
				run, _ := holds.Start(e.Context(), e.Open(loom.Flows(holds)), 0)
				e.Sleep(time.Second)
				_ = run.Cancel(e.Context(), "")
				ch <- 1
			})
		})
		says(t, text, "somebody has held the world", "for 200ms of real time", "loomtest_test.holdsTheWorld")
		if strings.Contains(text, "sim.(*World).give") {
			t.Errorf("%s: the stacks are those of everybody: %s", name, text)
		}
	}
}

func holdsTheWorld(ctx context.Context, wait func(context.Context)) { wait(ctx) }

// TestACrashEndsWhatCallsTheNode: a client in Env.Go is ended with the node that it called,
// its deferred functions are run, and its wait is over.
func TestACrashEndsWhatCallsTheNode(t *testing.T) {
	loomtest.Seeds(t, 20, func(e *loomtest.Env) {
		deferred, wentOn := 0, 0
		e.Step("charge").Calls(func(context.Context) (any, error) {
			defer func() { deferred++ }()
			e.Sleep(time.Hour)
			wentOn++
			return "late", nil
		})
		a := e.Open(loom.Flows(order))
		run := start(t, e, a, "a")
		wait := e.Go("client", func() {
			defer func() { deferred++ }()
			_, _ = run.Result(e.Context())
			wentOn++
		})
		e.Sleep(time.Minute)
		e.Crash(a)
		wait()
		if deferred != 2 || wentOn != 0 {
			t.Errorf("%d were unwound, %d went on", deferred, wentOn)
		}
	})
}

// TestAnEffectMayCrashItsNode, and the next node calls it again.
func TestAnEffectMayCrashItsNode(t *testing.T) {
	loomtest.Seeds(t, 20, func(e *loomtest.Env) {
		var a *loom.Runtime
		charge := e.Step("charge")
		charge.Calls(func(context.Context) (any, error) {
			if charge.Count() == 1 {
				e.Crash(a)
			}
			return "p", nil
		})
		a = e.Open(loom.Flows(order))
		b := e.Open(loom.Flows(order))
		e.Go("client", func() { _, _ = order.Start(e.Context(), a, "k", loom.ID("a")) })
		charge.Await(2)
		run, _ := loom.Attach[string](b, "a")
		yields(t, e, run, "p")
	})
}
