package loom_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// goldenOrder is what the flow of the golden logs gets.
type goldenOrder struct {
	Card string
	Ends string // "completed", "failed" or "cancelled"
}

// goldenFlow uses every verb that leaves something in a log. Like the logs in
// testdata/logs it is never changed; what comes later gets another one.
var goldenFlow = loom.NewFlow("golden", func(ctx loom.Context, in goldenOrder) (string, error) {
	nap := loom.Go(ctx, "line", func(ctx loom.Context) (string, error) { return loom.NewID(ctx), loom.Sleep(ctx, "nap", time.Minute) })
	paid, err := loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
		if loom.Attempt(ctx) == 1 {
			return "", errors.New("busy")
		}
		return "<p-1>", nil
	}, loom.Args(map[string]any{"card": in.Card, "cents": 1 << 60}), loom.Retry{Attempts: 2, Initial: time.Second})
	if err != nil {
		return "", err
	}
	look, err := loom.Do(ctx, "look", func(context.Context) (float64, error) { return 1e21, nil }, loom.ReadOnly())
	if err != nil || look != 1e21 {
		return "", errors.Join(err, errors.New("looked wrong"))
	}
	_, none := loom.Await[string](ctx, "none", loom.Within(time.Second))
	word, err := loom.Await[string](ctx, "word")
	if err != nil {
		return "", errors.Join(err, none)
	}
	id, err := nap.Get(ctx)
	if err != nil {
		return "", err
	}
	_, declined := loom.Do(ctx, "ship", func(context.Context) (int, error) { return 0, loom.Permanent(context.Canceled) })
	switch in.Ends {
	case "failed":
		return "", declined
	case "cancelled":
		return "", loom.Sleep(ctx, "long", 24*time.Hour)
	}
	return strings.Join([]string{paid, word, id, loom.NewID(ctx), loom.Now(ctx).String(), declined.Error()}, " "), nil
})

// TestGoldenLogFilesReplay: the log files of every release replay in this one, from each
// piece of them that a node could find, and no kind of event is in none of them. Files
// may be added, and are never changed. cases 72 and 74
func TestGoldenLogFilesReplay(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "logs", "*.log"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	seen := map[event.Kind]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var log []event.Envelope
		for e, err := range event.ReadLog(strings.NewReader(string(text))) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			seen[e.Kind] = true
			log = append(log, e)
		}
		for n := 1; n <= len(log); n++ {
			rep, err := loom.Replay(t.Context(), logIn(log[:n]), goldenFlow, goldenVerbs, goldenParent, goldenPoll, goldenShows, desk(&service{}))
			if err != nil {
				t.Errorf("%s, %d events: %v", name, n, err)
			}
			if n == len(log) && (rep.Status == fold.Running || len(rep.Next) > 0) {
				t.Errorf("%s does not end: %+v", name, rep)
			}
		}
		var again strings.Builder
		if err := event.WriteLog(&again, logIn(log)); err != nil || again.String() != string(text) {
			t.Errorf("%s is written as another file: %v", name, err)
		}
	}
	for _, k := range event.Kinds() {
		if !seen[k] {
			t.Errorf("no golden log holds %s", k)
		}
	}
	t.Logf("tally: golden_logs=%d", len(names))
}
