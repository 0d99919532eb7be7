package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
	"github.com/spf13/cobra"
)

// place is which store a command looks at, and who said so.
type place struct {
	url  string
	path string // of the SQLite file
	by   string // "--store", "LOOM_STORE" or "default"
}

const defaultStore = "sqlite:loom.db"

// place finds the store: flag, environment, default.
func (a *app) place() (place, error) {
	p := place{a.flags.store, "", "--store"}
	if p.url == "" {
		p.url, p.by = a.getenv("LOOM_STORE"), "LOOM_STORE"
	}
	if p.url == "" {
		p.url, p.by = defaultStore, "default"
	}
	scheme, path, ok := strings.Cut(p.url, ":")
	switch {
	case ok && scheme == "sqlite" && path != "":
		p.path = path
		return p, nil
	case ok && (scheme == "postgres" || scheme == "postgresql" || scheme == "nats"):
		// Not the URL itself: it may hold a password.
		return p, fault.New(fault.Usage, "unknown_store", fmt.Sprintf("this build of loom has no %s stores (%s)", scheme, p.by),
			"loom doctor --store sqlite:loom.db")
	case !ok:
		return p, fault.New(fault.Usage, "unknown_store", fmt.Sprintf("%q (%s) is no store: write sqlite:%s for a file", p.url, p.by, p.url),
			"loom doctor --store "+quote("sqlite:"+p.url))
	}
	return p, fault.New(fault.Usage, "unknown_store", fmt.Sprintf("%s names no store that loom knows: write sqlite:PATH", p.by),
		"loom doctor --store sqlite:loom.db")
}

// opened is a store and a runtime over it that drives nothing.
type opened struct {
	place
	st  store.Store
	rt  *loom.Runtime
	app *app
}

// open opens the store that exists; it makes none.
func (a *app) open(ctx context.Context) (o *opened, done func(), err error) {
	p, err := a.place()
	if err != nil {
		return nil, nil, err
	}
	if err := present(p); err != nil {
		return nil, nil, err
	}
	st, shut, err := sqlite.Open(p.path, sqlite.MustExist()).OpenStore(ctx)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, noStore(p)
		}
		return nil, nil, unopened(p, err)
	}
	rt, err := loom.Open(ctx, store.Opened(st), loom.Tuning{ClientOnly: true})
	if err != nil {
		return nil, nil, fault.Of(errors.Join(err, shut()), p.again("doctor"))
	}
	return &opened{place: p, st: st, rt: rt, app: a}, func() {
		// What a command had to say is durable and said.
		_ = rt.Close()
		_ = shut()
	}, nil
}

// present refuses what opening would turn into a new database.
func present(p place) error {
	info, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noStore(p)
	case err == nil && info.Mode().IsRegular() && info.Size() == 0:
		if _, err := os.Stat(p.path + "-wal"); err != nil {
			return fault.New(fault.NotFound, "no_store", fmt.Sprintf("%s (%s) is an empty file, no database", p.path, p.by), "loom demo")
		}
	case err == nil && info.Mode().IsRegular() && foreign(p.path):
		return fault.New(fault.NotFound, "no_store", fmt.Sprintf("%s (%s) is a database without executions, and looking makes it no store", p.path, p.by), "loom demo")
	}
	return nil // what else is wrong, opening tells
}

func noStore(p place) error {
	return fault.New(fault.NotFound, "no_store", fmt.Sprintf("there is no database at %s (%s), and looking makes none", p.path, p.by),
		"loom demo, or --store sqlite:PATH")
}

// with opens the store for a verb. Where an error of fn suggests nothing, the command
// try on the same store is suggested.
func (a *app) with(try string, fn func(ctx context.Context, o *opened, c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return verb("loom "+try, func(c *cobra.Command, args []string) error {
		o, done, err := a.open(c.Context())
		if err != nil {
			return err
		}
		defer done()
		if err := fn(c.Context(), o, c, args); err != nil {
			return fault.Of(err, o.again("%s", try))
		}
		return nil
	})
}

// resolve returns the id that text is, or is the beginning of.
// whole returns text if it is the whole id of an execution: for what changes an execution
// a beginning of its id is not enough, because a wrong id may be the beginning of a right
// one.
func (o *opened) whole(ctx context.Context, verb, text string) (string, error) {
	id, err := o.resolve(ctx, text)
	if err != nil || id == text {
		return id, err
	}
	return "", fault.New(fault.NotFound, "not_found", fmt.Sprintf("no execution in %s is called %s; %s takes whole ids", o.path, text, verb),
		o.again(verb+" %s", id))
}

func (o *opened) resolve(ctx context.Context, text string) (string, error) {
	if err := event.ExecutionID(text).Validate(); err != nil {
		return "", err
	}
	if _, err := o.rt.Summary(ctx, text); err == nil {
		return text, nil
	} else if !errors.Is(err, loom.ErrNotFound) {
		return "", err
	}
	var found []string
	for s, err := range o.rt.List(ctx, loom.Filter{Prefix: text}) {
		if err != nil {
			return "", err
		}
		if found = append(found, s.ID); len(found) > 4 {
			break
		}
	}
	switch len(found) {
	case 0:
		return "", fault.New(fault.NotFound, "not_found", fmt.Sprintf("no execution in %s is called %s or begins with it", o.path, text),
			"loom ls --store "+quote(o.url))
	case 1:
		return found[0], nil
	}
	some := strings.Join(found[:min(len(found), 4)], ", ")
	if len(found) > 4 {
		some += ", …"
	}
	return "", fault.New(fault.Usage, "ambiguous_id", fmt.Sprintf("several executions begin with %s: %s", text, some),
		fmt.Sprintf("loom ls %s --store %s", text, quote(o.url)))
}

// completeID offers recent ids that begin with what is there.
func (a *app) completeID(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const most = 30
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	o, done, err := a.open(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer done()
	var ids []cobra.Completion
	for s, err := range o.rt.List(c.Context(), loom.Filter{Prefix: begun}) {
		if err != nil || len(ids) == most {
			break
		}
		ids = append(ids, cobra.CompletionWithDesc(s.ID, s.Flow+" "+string(s.Status)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// again returns a command on the same store, to suggest.
func (p place) again(format string, args ...any) string {
	cmd := "loom " + fmt.Sprintf(format, args...)
	if p.by == "--store" {
		cmd += " --store " + quote(p.url)
	}
	return cmd
}
