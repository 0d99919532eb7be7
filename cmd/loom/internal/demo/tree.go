package demo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Entry is one thing in the listing of a tree: a regular file, or something that
// is listed and not opened.
type Entry struct {
	Path Name `json:"path"`
	// Kind is "" for a regular file; "symlink", "fifo", "socket", "device",
	// "directory" (one that cannot be read) or "other".
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"` // why it cannot be read
}

// Page is a piece of a listing.
type Page struct {
	Entries []Entry `json:"entries"`
	// More says that the tree goes on behind the last entry.
	More bool `json:"more,omitempty"`
}

// pageBytes is about how large a page may be when it is written down: a tree of any
// size fits into a log, whatever the limit of a payload is.
const pageBytes = 1 << 20

// walk lists a tree in the order of [compareNames].
type walk struct {
	root  string
	after Name // skip everything up to here
	own   *files
	limit int // bytes of a page
	page  Page
	size  int
}

var errPageFull = errors.New("page is full")

// list returns the page of root's tree behind after, "" for the first. Symbolic
// links are listed and not followed; directories are listed only if they cannot be
// read. The demo's own files are left out. The error is that of ctx.
func list(ctx context.Context, root string, after Name, own *files) (Page, error) {
	w := &walk{root: root, after: after, own: own, limit: pageBytes}
	return w.list(ctx)
}

func (w *walk) list(ctx context.Context) (Page, error) {
	w.page.Entries = []Entry{}
	switch err := w.directory(ctx, ""); {
	case err == nil:
	case errors.Is(err, errPageFull):
		w.page.More = true
	default:
		return Page{}, err
	}
	return w.page, nil
}

func (w *walk) directory(ctx context.Context, rel Name) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir := filepath.Join(w.root, string(rel))
	inside, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		at := rel
		if at == "" {
			at = "."
		}
		if err := w.add(Entry{Path: at, Kind: "directory", Error: reason(err)}); err != nil {
			return err
		}
	}
	for _, d := range inside {
		path := Name(d.Name())
		if rel != "" {
			path = rel + "/" + path
		}
		if err := w.one(ctx, dir, path, d); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) one(ctx context.Context, dir string, path Name, d fs.DirEntry) error {
	if w.own.holds(dir, d.Name()) {
		return nil
	}
	switch kind := kindOf(d.Type()); kind {
	case "directory":
		// What is before after has been listed, unless after is inside.
		if compareNames(path, w.after) < 0 && !strings.HasPrefix(string(w.after), string(path)+"/") {
			return nil
		}
		return w.directory(ctx, path)
	default:
		return w.add(Entry{Path: path, Kind: kind})
	}
}

func (w *walk) add(e Entry) error {
	if w.after != "" && compareNames(e.Path, w.after) <= 0 {
		return nil
	}
	name, err := e.Path.MarshalJSON()
	if err != nil {
		return err
	}
	w.size += len(name) + len(e.Kind) + len(e.Error) + 32
	if w.size > w.limit && len(w.page.Entries) > 0 {
		return errPageFull
	}
	w.page.Entries = append(w.page.Entries, e)
	return nil
}

// kindOf returns an entry's kind, "directory" for any directory.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m.IsRegular():
		return ""
	case m&fs.ModeSymlink != 0:
		return "symlink"
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "other"
}

// reason returns what the operating system said, without the path, which stands
// beside it already.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}
