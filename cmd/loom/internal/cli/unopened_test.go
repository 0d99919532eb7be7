package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

func TestAStoreThatMayNotBeWrittenSaysWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b.db")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly := &sqlite.Error{Op: "open", Path: path, Code: store.ErrReadOnly, Err: errors.New("unable to open database file")}
	p := place{url: "sqlite:" + path, path: path, by: "--store"}
	e := unopened(p, readOnly)
	if e.Code != "read_only" || e.Exit != fault.Forbidden || !errors.Is(e, store.ErrReadOnly) {
		t.Errorf("%s, exit %d", e.Code, e.Exit)
	}
	if !strings.Contains(e.Message, path+" (--store)") || !strings.Contains(e.Message, "SQLite keeps its locks") {
		t.Errorf("it says %q", e.Message)
	}
	if want := "cp '" + path + "'* DIR, then loom ls --store sqlite:DIR/'a b.db'"; e.Try != want {
		t.Errorf("try %q, want %q", e.Try, want)
	}
	if fix := remedy(p, e); !strings.Contains(fix, "the user who owns the file, or look at a copy") {
		t.Errorf("the fix is %q", fix)
	}

	// A copy of what cannot be read cannot be made.
	p.path = filepath.Join(filepath.Dir(path), "closed", "x.db")
	e = unopened(p, readOnly)
	if !strings.HasPrefix(e.Try, "ls -ld ") || strings.Contains(remedy(p, e), "copy") {
		t.Errorf("try %q, fix %q", e.Try, remedy(p, e))
	}
}

func TestTheDoctorNeverAdvisesItself(t *testing.T) {
	p := place{url: "sqlite:x.db", path: "x.db", by: "default"}
	seen := map[string]bool{}
	for _, code := range []store.Code{store.ErrReadOnly, sqlite.ErrNotADatabase, sqlite.ErrNetwork, sqlite.ErrNewer, sqlite.ErrBusy,
		store.ErrFull, store.ErrCorrupt, sqlite.ErrIO} {
		fix := remedy(p, unopened(p, &sqlite.Error{Op: "open", Path: "x.db", Code: code}))
		if fix == "" || seen[fix] || strings.Contains(fix, "loom doctor") {
			t.Errorf("%s: the fix is %q", code, fix)
		}
		seen[fix] = true
	}
}
