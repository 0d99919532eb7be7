//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// odd fills a tree with what a tree may hold, and returns how many entries of it are
// no regular files.
func odd(t *testing.T, tree string) {
	t.Helper()
	for _, name := range []string{
		"plain.txt", "with space", "new\nline.go", "quote\"s'.md", "back\\slash", "-rf", "\x1b[31mred", "ünïcödé-日本",
		"not-utf8-\xff\xfe.go", "not-utf8-\xff\xfd.go", "\u202Ertl", "percent%41", "\ufffd", strings.Repeat("n", 255),
	} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Symlink("plain.txt", filepath.Join(tree, "link")),
		os.Symlink(".", filepath.Join(tree, "loop")),
		os.Symlink("nowhere", filepath.Join(tree, "dangling")),
		syscall.Mkfifo(filepath.Join(tree, "fifo"), 0o644),
		os.MkdirAll(filepath.Join(tree, "dir\xff", "empty"), 0o755),
		os.WriteFile(filepath.Join(tree, "dir\xff", "in.go"), []byte("x"), 0o644),
		os.WriteFile(filepath.Join(tree, "unreadable.go"), []byte("secret"), 0o000),
		os.Mkdir(filepath.Join(tree, "closed"), 0o000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDemoOnAnOddTree(t *testing.T) {
	dir, tree := t.TempDir(), t.TempDir()
	odd(t, tree)
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(tree, "closed"), 0o755) })
	cmd := program(t, dir, "loom", "demo", "--json", "--dir", tree, "--id", "audit-1", "--kills", "2")
	if os.Getuid() == 0 {
		// Nothing is unreadable to root.
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, d := range []string{dir, tree, filepath.Dir(cmd.Path)} { // the last of this test binary
			for d := d; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
				if err := os.Chmod(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	f := last(t, out.Bytes())
	if want := 14 + 1 + 1; f.Files != want || f.Kills != 2 || f.Lost != 0 || !f.DuplicateRefused {
		t.Errorf("%+v, want %d files", f, want)
	}
	raw, err := os.ReadFile(f.Report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"path":{"base64":"bm90LXV0Zjgt//4uZ28="},"bytes":15,"sha256":"`,
		`{"path":{"base64":"ZGly/y9pbi5nbw=="},"bytes":1,`,
		`{"path":"unreadable.go","bytes":0,"lines":0,"language":"Go","error":"permission denied"}`,
		`{"path":"closed","kind":"directory","error":"permission denied"}`,
		`{"path":"fifo","kind":"fifo"}`, `{"path":"link","kind":"symlink"}`, `{"path":"loop","kind":"symlink"}`,
		`{"path":"dangling","kind":"symlink"}`, `"new\nline.go"`, `"unreadable":2,"notOpened":4,`,
	} {
		if !bytes.Contains(raw, []byte(want)) {
			t.Errorf("the report does not hold %s", want)
		}
	}
}
