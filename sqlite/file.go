package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loomwork/loom/store"
)

// file is the database file and what it was when it was opened.
//
// It is looked at by path only. Opening and closing it here would drop the POSIX
// locks that the engine holds on it in this process.
type file struct {
	path string // absolute, symbolic links resolved: all processes name the same locks
	was  identity
}

// locate resolves path, refuses what cannot be a database and, unless existing,
// creates an empty file of mode 0600 where there is none.
func locate(path string, existing bool) (*file, error) {
	full, err := resolve(path)
	if err != nil {
		return nil, &Error{Op: "open", Path: path, Code: ErrIO, Err: err}
	}
	f := &file{path: full}
	if kind := network(filepath.Dir(full)); kind != "" {
		return nil, &Error{Op: "open", Path: full, Code: ErrNetwork, Err: fmt.Errorf("it is on %s", kind)}
	}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A write-ahead log without its database is what is left of one: a new
		// database here would swallow it.
		if size := sizeOf(full + "-wal"); size > 0 {
			return nil, f.vanished(fmt.Errorf("the file is gone, its -wal of %d bytes is still there", size))
		}
		if existing {
			return nil, f.vanished(err)
		}
		if err := create(full); err != nil {
			return nil, &Error{Op: "open", Path: full, Code: codeOfOS(err), Err: err}
		}
	case err != nil:
		return nil, &Error{Op: "open", Path: full, Code: codeOfOS(err), Err: err}
	case !info.Mode().IsRegular():
		return nil, &Error{Op: "open", Path: full, Code: ErrNotADatabase, Err: fmt.Errorf("it is no regular file: %s", info.Mode().Type())}
	case info.Size() == 0:
		// The engine deletes the log of an empty database without asking.
		if size := sizeOf(full + "-wal"); size > 0 {
			return nil, f.vanished(fmt.Errorf("the file is empty, its -wal has %d bytes", size))
		}
	}
	if f.was, err = identify(full); err != nil {
		return nil, f.vanished(err)
	}
	return f, nil
}

func resolve(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(full))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(full)), nil
}

func create(path string) error {
	h, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster, and its file is as good
	}
	if err != nil {
		return err
	}
	return h.Close()
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func codeOfOS(err error) store.Code {
	if errors.Is(err, fs.ErrPermission) {
		return store.ErrReadOnly
	}
	return ErrIO
}

func (f *file) vanished(cause error) error {
	return &Error{Op: "open", Path: f.path, Code: store.ErrVanished, Err: cause}
}

// check returns an error that matches store.ErrVanished if the path no longer
// leads to the file that was opened: whatever is written then is lost with the
// last descriptor of the old one.
func (f *file) check() error {
	is, err := identify(f.path)
	if err != nil {
		return &Error{Op: "check", Path: f.path, Code: store.ErrVanished, Err: err}
	}
	if !f.was.same(is) {
		return &Error{Op: "check", Path: f.path, Code: store.ErrVanished, Err: errors.New("another file stands in its place")}
	}
	return nil
}
