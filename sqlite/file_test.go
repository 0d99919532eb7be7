//go:build unix

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

func TestNewFileIsPrivate(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	db := open(t)
	renew(t, db, "n")
	for _, path := range []string{db.Path(), db.Path() + "-wal", db.Path() + "-shm", db.locks.path("n")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(path), info.Mode().Perm())
		}
	}
}

// What is at the path decides what Open says, and Open changes none of it.
func TestOpenBadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	orphan := write("orphan.db-wal", bytes.Repeat([]byte("wal"), 100))
	empty := write("empty.db", nil)
	write("empty.db-wal", bytes.Repeat([]byte("wal"), 100))
	for _, c := range []struct {
		name, path string
		want       error
		opts       []Option
	}{
		{"directory", dir, ErrNotADatabase, nil},
		{"fifo", fifo, ErrNotADatabase, nil},
		{"text", write("text.db", bytes.Repeat([]byte("not a database\n"), 1000)), ErrNotADatabase, nil},
		{"short text", write("short.db", []byte("hello")), ErrNotADatabase, nil},
		{"no directory", filepath.Join(dir, "none", "x.db"), ErrIO, nil},
		{"only a wal", strings.TrimSuffix(orphan, "-wal"), store.ErrVanished, nil},
		{"empty beside a wal", empty, store.ErrVanished, nil},
		{"must exist", filepath.Join(dir, "missing.db"), store.ErrVanished, []Option{MustExist()}},
		{"must exist, for os", filepath.Join(dir, "missing.db"), fs.ErrNotExist, []Option{MustExist()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := listing(t, dir)
			_, err := OpenDB(context.Background(), c.path, c.opts...)
			var typed *Error
			if !errors.Is(err, c.want) || !errors.As(err, &typed) {
				t.Fatalf("got %v, want one that matches %v", err, c.want)
			}
			if after := listing(t, dir); after != before {
				t.Fatalf("it left\n%safter\n%s", after, before)
			}
		})
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(e.Name() + " ")
		b.WriteString(info.Mode().String() + "\n")
		if e.Type().IsRegular() {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			b.Write(data)
		}
	}
	return b.String()
}

func TestReadOnlyFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "loom") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db := openAt(t, filepath.Join(dir, "loom.db"))
	commit(t, db, startOf("x"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{db.Path(): 0o444, dir: 0o555} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(dir, 0o755)
	// Permissions mean nothing to root: ask as somebody else.
	c := command("open", db.Path())
	if os.Getuid() == 0 {
		bin := filepath.Join(os.TempDir(), "loom-sqlite-test-binary")
		data, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(bin, data, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(bin)
		c.Path = bin
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if got := c.run(t).hear(t); got != string(store.ErrReadOnly) {
		t.Fatalf("open says %q", got)
	}
}

// A file that vanishes, or is replaced, under an open store: everything fails,
// nothing is made anew, nothing is written into what stands there now.
func TestVanished(t *testing.T) {
	for _, how := range []string{"removed", "renamed", "replaced"} {
		t.Run(how, func(t *testing.T) {
			ctx := context.Background()
			db := open(t)
			tip := commit(t, db, startOf("x")).Tip
			switch how {
			case "removed":
				if err := os.Remove(db.Path()); err != nil {
					t.Fatal(err)
				}
			default:
				if err := os.Rename(db.Path(), db.Path()+".old"); err != nil {
					t.Fatal(err)
				}
			}
			if how == "replaced" {
				if err := os.WriteFile(db.Path(), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			res := try(t, db, next("x", tip, ""))
			if res.Outcome != store.Failed || !errors.Is(res.Err, store.ErrVanished) {
				t.Fatalf("commit: %v, %v", res.Outcome, res.Err)
			}
			for what, err := range map[string]error{
				"tip":   second(db.Tip(ctx, "x")),
				"renew": second(db.Renew(ctx, "n", ttl, nil)),
				"post":  second(db.Post(ctx, "x", store.Message{ID: "m"})),
				"nodes": second(db.Nodes(ctx)),
				"await": second(db.Await(ctx, 0)),
			} {
				if !errors.Is(err, store.ErrVanished) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, err := range db.Read(ctx, "x", store.Range{}) {
				if !errors.Is(err, store.ErrVanished) {
					t.Errorf("read: %v", err)
				}
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if info, err := os.Stat(db.Path()); how != "replaced" && err == nil || how == "replaced" && info.Size() != 0 {
				t.Fatalf("there is a file again: %v, %v", info, err)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// A file that an application uses as well keeps its tables and its numbers.
func TestForeignThingsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	c, err := sqlite3.OpenConn(path, sqlite3.OpenReadWrite, sqlite3.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"PRAGMA page_size = 8192", "CREATE TABLE events (x)", "CREATE TABLE heads (x)", "CREATE TABLE meta (x)",
		"INSERT INTO events VALUES ('mine')", "PRAGMA user_version = 42", "PRAGMA application_id = 4711"} {
		if err := run(c, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	db := openAt(t, path)
	commit(t, db, startOf("x"))
	for q, want := range map[string]int64{"PRAGMA user_version": 42, "PRAGMA application_id": 4711, "PRAGMA page_size": 8192,
		"SELECT count(*) FROM events WHERE x = 'mine'":                                               1,
		"SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'loom%' AND name NOT LIKE 'sqlite%'": 3} {
		if got := query(t, db, q); got != want {
			t.Errorf("%s = %d, want %d", q, got, want)
		}
	}
}

func TestSymbolicLinkNamesTheSameStore(t *testing.T) {
	db := open(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(db.Path(), link); err != nil {
		t.Fatal(err)
	}
	other := openAt(t, link)
	if other.Path() != db.Path() {
		t.Fatalf("%s, %s", other.Path(), db.Path())
	}
	renew(t, other, "n")
	if !isAlive(t, db, "n") {
		t.Fatal("the node behind the link is dead")
	}
}
