package loomtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

// TestEveryWayToFailFails: whatever goes wrong in a test, in whichever function, it fails
// at once and says what it was; nothing hangs.
func TestEveryWayToFailFails(t *testing.T) {
	waits := loom.NewFlow("waits", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
	acts := func(effect func(ctx context.Context) (int, error)) *loom.Flow[int, int] {
		return loom.NewFlow("acts", func(ctx loom.Context, _ int) (int, error) { return loom.Do(ctx, "act", effect) })
	}
	result := func(t testing.TB, e *loomtest.Env, f *loom.Flow[int, int]) {
		run, err := f.Start(e.Context(), e.Open(loom.Flows(f)), 0, loom.ID("x"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = run.Result(e.Context())
		t.Log("went on")
	}
	for _, c := range []struct {
		name string
		fn   func(t testing.TB, e *loomtest.Env)
		says []string
	}{
		{"Fatal", func(t testing.TB, e *loomtest.Env) { e.Sleep(time.Hour); t.Fatal("enough") }, []string{"enough", "LOOMTEST_SEED=1 go test -run '^TestIt$/^a \\(b\\)$'"}},
		{"Fatal beside", func(t testing.TB, e *loomtest.Env) {
			e.Go("aside", func() { e.Sleep(time.Minute); t.Fatal("enough") })
			e.Sleep(time.Hour)
			t.Log("went on")
		}, []string{"enough"}},
		{"Fatal in an effect", func(t testing.TB, e *loomtest.Env) {
			result(t, e, acts(func(context.Context) (int, error) { t.Fatal("enough"); return 0, nil }))
		}, []string{"enough"}},
		{"a panic", func(t testing.TB, e *loomtest.Env) { panic("boom") }, []string{"panic in the test: boom", "failure_test.go"}},
		{"a panic beside", func(t testing.TB, e *loomtest.Env) {
			e.Go("aside", func() { panic("boom") })
			e.Sleep(time.Hour)
		}, []string{"panic in aside: boom"}},
		{"nothing comes of it", func(t testing.TB, e *loomtest.Env) {
			run, _ := waits.Start(e.Context(), e.Open(loom.Flows(waits)), 0, loom.ID("x"))
			_, _ = run.Result(e.Context())
		}, []string{"nothing has come of", "execution x of flow waits has 2 events; await word#1 is open"}},
		{"a deadlock", func(t testing.TB, e *loomtest.Env) {
			var wait func()
			wait = e.Go("one", func() { e.Sleep(1); wait() })
			wait()
		}, []string{"deadlock", "one#"}},
		{"a call of a crashed node", func(t testing.TB, e *loomtest.Env) {
			rt := e.Open(loom.Flows(waits))
			e.Crash(rt)
			_ = rt.Signal(e.Context(), "x", "word", 1)
		}, []string{"the test calls node node-1, which has crashed"}},
		{"a crash under a call", func(t testing.TB, e *loomtest.Env) {
			rt := e.Open(loom.Flows(waits))
			run, _ := waits.Start(e.Context(), rt, 0, loom.ID("x"))
			e.Go("killer", func() { e.Sleep(time.Minute); e.Crash(rt) })
			_, _ = run.Result(e.Context())
		}, []string{"the test was waiting in a call of node node-1, which has crashed"}},
		{"left over", func(t testing.TB, e *loomtest.Env) {
			e.Go("aside", func() { e.Sleep(time.Hour) })
		}, []string{`the function of Env.Go("aside") has not returned`}},
		{"a leaked goroutine", func(t testing.TB, e *loomtest.Env) {
			result(t, e, acts(func(context.Context) (int, error) { go leak(); return 1, nil }))
		}, []string{"goroutines are left over", "loomtest_test.leak"}},
		{"a go statement in the test", func(t testing.TB, e *loomtest.Env) {
			rt := e.Open(loom.Flows(waits))
			done := make(chan struct{})
			go func() { defer close(done); _, _ = rt.Summary(e.Context(), "x") }()
			<-done
			e.Sleep(time.Hour)
			t.Log("went on")
		}, []string{"called from a goroutine that a go statement began", "failure_test.go"}},
		{"a go statement that is waited for", func(t testing.TB, e *loomtest.Env) {
			done := make(chan struct{})
			go func() { e.Sleep(time.Hour); close(done) }()
			<-done
		}, []string{"called from a goroutine that a go statement began", "failure_test.go"}},
		{"an answer that nobody asked for", func(t testing.TB, e *loomtest.Env) { e.Step("act").Returns(1, 2) }, []string{"the script of step act has 2 answers"}},
		{"a call without an answer", func(t testing.TB, e *loomtest.Env) {
			e.Step("act")
			result(t, e, acts(func(context.Context) (int, error) { return 1, nil }))
		}, []string{"step act was called 1 times, and its script has 0 answers"}},
		{"a foreign runtime", func(t testing.TB, e *loomtest.Env) { e.Crash(nil) }, []string{"did not open"}},
		{"two crashes", func(t testing.TB, e *loomtest.Env) { rt := e.Open(); e.Crash(rt); e.Crash(rt) }, []string{"only once"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := runs(t, c.fn)
			says(t, text, c.says...)
			if c.name != "a leaked goroutine" && c.name != "a call without an answer" && strings.Contains(text, "went on") {
				t.Errorf("it went on: %s", text)
			}
		})
	}
	close(leaked)
}

var leaked = make(chan struct{})

// leak is a goroutine that nobody waits for.
func leak() { <-leaked }

// TestADivergenceFailsTheTest, unless the test is about one: then a build that fits the log
// goes on.
func TestADivergenceFailsTheTest(t *testing.T) {
	takeOver := func(t testing.TB, e *loomtest.Env) {
		old := deploy("build", "ship")
		a := e.Open(loom.Flows(old))
		if _, err := old.Start(e.Context(), a, 0, loom.ID("x")); err != nil {
			t.Fatal(err)
		}
		e.Sleep(time.Minute)
		e.Crash(a)
		b := e.Open(loom.Flows(deploy("compile", "ship")))
		run, _ := loom.Attach[int](b, "x")
		_, err := run.Result(e.Context())
		if diverged := (*loom.DivergedError)(nil); !errors.As(err, &diverged) {
			t.Errorf("the result is %v", err)
		}
		e.Open(loom.Flows(old))
		if got, err := run.Result(e.Context()); err != nil || got != 1 {
			t.Errorf("%d, %v", got, err)
		}
	}
	says(t, runs(t, takeOver), "execution x diverged at sequence 1", "EFFECT_SCHEDULED compile#1")
	loomtest.Seeds(t, 10, func(e *loomtest.Env) {
		e.MayDiverge()
		takeOver(t, e)
	})
}

// TestASkipSkips.
func TestASkipSkips(t *testing.T) {
	f := watched(t, func(t testing.TB) {
		loomtest.Run(t, func(e *loomtest.Env) { e.Sleep(time.Hour); t.SkipNow() })
		t.Error("went on")
	})
	if !f.Skipped() || f.Failed() {
		t.Errorf("skipped %v, failed %v: %s", f.Skipped(), f.Failed(), f.text())
	}
}
