package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/event"
)

// exported is the data of "log --export --json".
type exported struct {
	Execution string `json:"execution"`
	File      string `json:"file"`
	Events    int64  `json:"events"`
}

// export writes the log of an execution to a file that is not there yet, or with "-" to
// standard output.
func (a *app) export(ctx context.Context, o *opened, id, path string) error {
	n := int64(0)
	log := func(yield func(event.Envelope, error) bool) {
		for e, err := range o.rt.Log(ctx, id, 0) {
			n++
			if !yield(e, err) {
				return
			}
		}
	}
	if path == "-" {
		if a.flags.json {
			return fault.New(fault.Usage, "usage", "--export - and --json both print to standard output", "loom log --help")
		}
		return event.WriteLog(a.screen.Out, log)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Conflict, "file_exists", fmt.Sprintf("%s is there already, and is not written over", path),
			o.again("log %s --export %s", id, quote(path+".new")))
	}
	if err != nil {
		return err
	}
	err = errors.Join(event.WriteLog(f, log), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path)) // half a log is none
	}
	if a.flags.json {
		return a.screen.Emit("export", exported{id, path, n})
	}
	a.screen.Printf("%d events of %s are in %s\n", n, id, path)
	return nil
}
