package loom_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// goldenVerbs uses the verbs that came after goldenFlow. It is never changed either.
var goldenVerbs = loom.NewFlow("golden-verbs", func(ctx loom.Context, ends string) (string, error) {
	if loom.Version(ctx, "upload-in-chunks", 0, 2) != 2 {
		return "", errors.New("an old execution")
	}
	_, err := loom.Do(ctx, "upload", func(ctx context.Context) (int, error) {
		at, _, err := loom.LastProgress[int](ctx)
		if err := errors.Join(err, loom.Progress(ctx, at+1)); err != nil {
			return 0, err
		}
		if loom.Attempt(ctx) == 1 {
			return 0, errors.New("line dropped")
		}
		return at, nil
	}, loom.Retry{Attempts: 2, Initial: time.Second})
	if err != nil {
		return "", err
	}
	err = errors.Join(
		loom.Compensate(ctx, "delete", func(context.Context) error { return nil }, loom.Args("x")),
		loom.Cleanup(ctx, "unlock", func(ctx loom.Context) error { return loom.Sleep(ctx, "wait", time.Second) }))
	if err != nil {
		return "", err
	}
	if ends == "terminated" {
		err = loom.Sleep(ctx, "long", 24*time.Hour)
	}
	return ends, errors.Join(err, errors.New("no space"))
})

// The golden logs of goldenVerbs are what it writes; this fails if it would write them
// otherwise today.
func TestGoldenVerbsWriteTheirGoldenLogs(t *testing.T) {
	for _, ends := range []string{"undone", "terminated"} {
		bubble(t, func(t *testing.T) {
			db := memstore.New(nil)
			rt := open(t, db, loom.Flows(goldenVerbs))
			run := begin(t, goldenVerbs, rt, ends, loom.ID("golden-"+ends))
			if ends == "terminated" {
				pass(t, time.Minute)
				if err := run.Terminate(t.Context(), "it hangs"); err != nil {
					t.Fatal(err)
				}
			}
			fails(t, run)
			log := logOf(t, db, "golden-"+ends)
			var file strings.Builder
			if err := event.WriteLog(&file, logIn(log)); err != nil {
				t.Fatal(err)
			}
			golden := readGolden(t, "verbs-"+ends+"-1.0.0.log", file.String())
			if got, want := kinds(log), kinds(golden); got != want {
				t.Fatalf("written:\n%s\nrecorded:\n%s", got, want)
			}
		})
	}
}

// readGolden reads a golden log file; with LOOM_GOLDEN=write one that is missing is
// written, and none is changed.
func readGolden(t *testing.T, name, text string) []event.Envelope {
	t.Helper()
	path := filepath.Join("testdata", "logs", name)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("LOOM_GOLDEN") == "write" {
		raw, err = []byte(text), os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	var log []event.Envelope
	for e, err := range event.ReadLog(strings.NewReader(string(raw))) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, e)
	}
	return log
}

// goldenParent and goldenChild are a family. They are never changed either.
var goldenChild = loom.NewFlow("golden-child", func(ctx loom.Context, n int) (int, error) {
	if n == 0 {
		return 0, errors.New("nothing to ship")
	}
	return n, loom.Sleep(ctx, "ship", time.Minute)
})

var goldenParent = loom.NewFlow("golden-parent", func(ctx loom.Context, n int) (int, error) {
	one, err := goldenChild.Spawn(ctx, n, loom.OnParentCancel(loom.KeepWaiting))
	if err != nil {
		return 0, err
	}
	_, failed := goldenChild.Child(ctx, 0)
	_, refused := goldenChild.Child(ctx, 1, loom.ID("golden-family"))
	v, err := one.Get(ctx)
	if failed == nil || refused == nil {
		err = errors.Join(err, errors.New("a child that cannot have completed has"))
	}
	return v, err
})

func TestTheGoldenFamilyWritesItsGoldenLogs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(goldenParent, goldenChild))
		yields(t, begin(t, goldenParent, rt, 3, loom.ID("golden-family")), 3)
		log := logOf(t, db, "golden-family")
		var file strings.Builder
		if err := event.WriteLog(&file, logIn(log)); err != nil {
			t.Fatal(err)
		}
		if got, want := kinds(log), kinds(readGolden(t, "family-1.0.0.log", file.String())); got != want {
			t.Fatalf("written:\n%s\nrecorded:\n%s", got, want)
		}
	})
}

// goldenPoll continues twice. It is never changed either.
var goldenPoll = loom.NewFlow("golden-poll", func(ctx loom.Context, page int) (string, error) {
	err := loom.Cleanup(ctx, "close", func(ctx loom.Context) error { return loom.Sleep(ctx, "close", time.Second) })
	if err != nil {
		return "", err
	}
	found, err := loom.Do(ctx, "look", func(context.Context) (bool, error) { return page == 3, nil }, loom.Args(page))
	if err != nil || found {
		return loom.NewID(ctx), err
	}
	if err := loom.Sleep(ctx, "pause", time.Minute); err != nil {
		return "", err
	}
	return "", loom.ContinueAs(ctx, page+1)
})

func TestTheGoldenPollWritesItsGoldenLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(goldenPoll))
		if _, err := begin(t, goldenPoll, rt, 1, loom.ID("golden-poll")).Result(soon(t)); err != nil {
			t.Fatal(err)
		}
		log := logOf(t, db, "golden-poll")
		var file strings.Builder
		if err := event.WriteLog(&file, logIn(log)); err != nil {
			t.Fatal(err)
		}
		if got, want := kinds(log), kinds(readGolden(t, "poll-1.0.0.log", file.String())); got != want {
			t.Fatalf("written:\n%s\nrecorded:\n%s", got, want)
		}
	})
}
