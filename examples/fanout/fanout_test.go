package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/examples/internal/program"
	"github.com/loomwork/loom/loomtest"
)

// plant makes folders of files in a directory of the test's own: file i of all has i words,
// one a line.
func plant(t *testing.T, files ...int) (dir string, want Count) {
	t.Helper()
	dir = t.TempDir()
	for folder, n := range files {
		path := filepath.Join(dir, strings.Repeat("sub/", folder))
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		for range n {
			name := filepath.Join(path, fmt.Sprintf("%03d.txt", want.Files))
			if err := os.WriteFile(name, []byte(strings.Repeat("word\n", want.Files)), 0o644); err != nil {
				t.Fatal(err)
			}
			want.Lines += want.Files
			want.Words += want.Files
			want.Files++
		}
	}
	return dir, want
}

func TestAllFilesAreCountedAndNotTooManyAtATime(t *testing.T) {
	dir, want := plant(t, 9, 0, 12, 1)
	for _, c := range []struct {
		files, folders int
		most           int // files that are read at once, in all
	}{{1, 1, 1}, {3, 1, 3}, {3, 4, 7}, {100, 4, 22}} {
		t.Run(fmt.Sprint(c.files, " of ", c.folders), func(t *testing.T) {
			loomtest.Run(t, func(e *loomtest.Env) {
				now, most := 0, 0
				folder := NewFolder(func(ctx context.Context, file string) (Count, error) {
					now++
					most = max(most, now)
					e.Sleep(time.Second)
					now--
					return readFile(ctx, file)
				})
				tree := NewTree(folder)
				run, err := tree.Start(e.Context(), e.Open(loom.Flows(tree, folder)), Job{dir, c.files, c.folders})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := run.Result(e.Context()); err != nil || got != want {
					t.Errorf("%+v, want %+v: %v", got, want, err)
				}
				if most != c.most {
					t.Errorf("%d at a time, want %d", most, c.most)
				}
			})
		})
	}
}

func TestACountIsTheSameWhereverItDies(t *testing.T) {
	dir, _ := plant(t, 3, 2)
	loomtest.CrashEverywhere(t, func(*loomtest.Env) *loomtest.Scenario {
		folder := NewFolder(readFile)
		tree := NewTree(folder)
		return &loomtest.Scenario{
			Flows: []loom.AnyFlow{tree, folder},
			Start: func(ctx context.Context, rt *loom.Runtime) error {
				_, err := tree.Start(ctx, rt, Job{dir, 2, 2}, loom.ID("tree-1"))
				return err
			},
		}
	})
}

// A file that cannot be read fails its folder and the tree; what the others found is kept in
// their logs.
func TestAFileThatIsGoneFailsTheTree(t *testing.T) {
	dir, _ := plant(t, 2, 3)
	loomtest.Run(t, func(e *loomtest.Env) {
		folder := NewFolder(func(ctx context.Context, file string) (Count, error) {
			if strings.HasSuffix(file, "003.txt") {
				file += ".gone"
			}
			return readFile(ctx, file)
		})
		tree := NewTree(folder)
		run, err := tree.Start(e.Context(), e.Open(loom.Flows(tree, folder)), Job{dir, 2, 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(e.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// The program as it is, over SQLite.
func TestTheProgramCounts(t *testing.T) {
	bin := program.Build(t)
	dir, want := plant(t, 5, 5, 5)
	work := t.TempDir()
	out := program.Run(t, work, bin, dir)
	if !strings.HasSuffix(out, fmt.Sprintf("%d words and %d lines in %d files\n", want.Words, want.Lines, want.Files)) {
		t.Error(out)
	}
	folder := NewFolder(nil)
	program.Replays(t, filepath.Join(work, "fanout.db"), NewTree(folder), folder)
}
