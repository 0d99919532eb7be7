package loomtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/loomtest"
)

// deploy is a flow of two steps; the names are those of a build.
func deploy(first, second string) *loom.Flow[int, int] {
	step := func(ctx loom.Context, name string) (int, error) {
		return loom.Do(ctx, name, func(context.Context) (int, error) { return 1, nil })
	}
	return loom.NewFlow("deploy", func(ctx loom.Context, _ int) (int, error) {
		if _, err := step(ctx, first); err != nil {
			return 0, err
		}
		if err := loom.Sleep(ctx, "nap", time.Hour); err != nil {
			return 0, err
		}
		return step(ctx, second)
	})
}

// saved is the file of an execution's log, after so long.
func saved(t *testing.T, after time.Duration) (path string) {
	path = filepath.Join(t.TempDir(), "logs", "x.log")
	loomtest.Run(t, func(e *loomtest.Env) {
		flow := deploy("build", "ship")
		rt := e.Open(loom.Flows(flow))
		if _, err := flow.Start(e.Context(), rt, 0, loom.ID("x")); err != nil {
			t.Fatal(err)
		}
		e.Sleep(after)
		loomtest.Save(t, rt, "x", path)
	})
	return path
}

// A saved log tells whether today's code fits it, whether or not it
// has ended, without a call and without a store.
func TestReplayFileTellsWhetherTheCodeFits(t *testing.T) {
	for after, want := range map[time.Duration]fold.Status{time.Minute: fold.Running, 2 * time.Hour: fold.Completed} {
		path := saved(t, after)
		rep := loomtest.ReplayFile(t, path, deploy("build", "ship"))
		if rep.Status != want || rep.Flow != "deploy" || string(rep.ID) != "x" || rep.Events < 4 {
			t.Errorf("%+v", rep)
		}
		text := failing(t, func(t testing.TB) { loomtest.ReplayFile(t, path, deploy("compile", "ship")) })
		says(t, text, "the code no longer fits", "x.log", "at sequence 1", "EFFECT_SCHEDULED build#1", "EFFECT_SCHEDULED compile#1")
	}
	path := saved(t, 2*time.Hour)
	text := failing(t, func(t testing.TB) { loomtest.ReplayFile(t, path, deploy("build", "send")) })
	says(t, text, "at sequence 5", "EFFECT_SCHEDULED ship#1", "EFFECT_SCHEDULED send#1")
	says(t, failing(t, func(t testing.TB) { loomtest.ReplayFile(t, path, order) }), `no flow here is called "deploy"`)
}

func TestReplayFileRefusesWhatIsNoLog(t *testing.T) {
	path := saved(t, time.Minute)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for want, text := range map[string]string{
		"line 1: is not valid JSON": "no log",
		"in the middle of a log":    strings.Join(lines[:3], ""),
		"sequence 2 where 1 is due": strings.Join(append(lines[:2:2], lines[3:]...), ""),
		"sequence 0 where 1 is due": strings.Join(append(lines[:2:2], lines[1:]...), ""),
		"the file holds 3":          strings.Join(append(lines[:4:4], lines[5:]...), ""),
		"does not decode":           strings.Replace(string(whole), `"op":"build#1"`, `"oq":"build#1"`, 1),
	} {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if want == "in the middle of a log" {
			_ = os.WriteFile(path, []byte(text), 0o644)
		}
		says(t, failing(t, func(t testing.TB) { loomtest.ReplayFile(t, path, deploy("build", "ship")) }), "cannot be replayed", want)
	}
	says(t, failing(t, func(t testing.TB) { loomtest.ReplayFile(t, path+"x", order) }), "no such file")
}
