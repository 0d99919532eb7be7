package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

// unopened is the error of a store that is there and does not open.
func unopened(p place, err error) *fault.Error {
	e := fault.Of(err, p.again("doctor"))
	switch {
	case errors.Is(err, store.ErrReadOnly):
		e.Message = fmt.Sprintf("%s (%s), or its directory, cannot be written by this user, and looking needs that too: "+
			"SQLite keeps its locks and its newest writes in files beside the database", p.path, p.by)
		e.Try = "ls -ld " + quote(filepath.Dir(p.path)) + " " + quote(p.path)
		if readable(p.path) {
			e.Try = fmt.Sprintf("cp %s* DIR, then loom ls --store sqlite:DIR/%s", quote(p.path), quote(filepath.Base(p.path)))
		}
	case errors.Is(err, sqlite.ErrNotADatabase):
		e.Try = "loom doctor --store sqlite:PATH"
	}
	return e
}

// remedy is the doctor's advice for a store that does not open, where "loom doctor" is
// none.
func remedy(p place, e *fault.Error) string {
	switch {
	case errors.Is(e, store.ErrReadOnly):
		fix := "run loom as the user who owns the file"
		if readable(p.path) {
			fix += ", or look at a copy that was made while no worker ran"
		}
		return fix
	case errors.Is(e, sqlite.ErrNotADatabase):
		return "name the file of a store with --store sqlite:PATH"
	case errors.Is(e, sqlite.ErrNetwork):
		return "move the file to a local disk"
	case errors.Is(e, sqlite.ErrNewer):
		return "install the loom that made the file, or a later one"
	case errors.Is(e, sqlite.ErrBusy):
		return "try again; if it stays so, end the process that holds the write lock"
	case errors.Is(e, store.ErrFull):
		return "make room on the disk"
	case errors.Is(e, store.ErrCorrupt):
		return "stop the workers, keep the file and its -wal, and restore a copy"
	}
	return "make what the error names work, then run the doctor again"
}

// readable reports whether this user may read the file. Nothing in this process holds
// it open: closing it here would drop the engine's locks.
func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
