package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/loomwork/loom"
)

// Input is what an audit is started with. Its paths are absolute.
type Input struct {
	Root   Name `json:"root"`
	Report Name `json:"report"`
	Ledger Name `json:"ledger"`
}

// Names of the steps. The path of a file's step is "take#<branch>/file#<n>".
const (
	stepList    = "list"
	stepFile    = "file"
	stepSummary = "summary"
)

// isStep reports whether a path is that of a step with the name.
func isStep(path, name string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasPrefix(last, name+"#")
}

// flowName gives each audit a flow of its own: the workers of two demos on one
// database leave each other's execution alone, so that what one demo kills is its
// own work and nothing else.
func flowName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "demo.audit." + hex.EncodeToString(sum[:4])
}

// effects are what the audit does to the world, and how the ledger hears of it.
type effects interface {
	// call calls an effect between its two lines in the ledger; files is what the
	// second says of a listing.
	call(ctx context.Context, what string, fn func(ctx context.Context) (files *int, err error)) error
	// body hears that the body is called.
	body()
}

// newFlow returns the audit with the id, over its own files.
func newFlow(own *files, fx effects) *loom.Flow[Input, Summary] {
	return loom.NewFlow(flowName(own.id), func(ctx loom.Context, in Input) (Summary, error) {
		fx.body()
		a := audit{in: in, own: own, fx: fx}
		return a.run(ctx)
	})
}

// Flow returns the audit with the id, for a replay: its effects are never called.
func Flow(id string) loom.AnyFlow { return newFlow(&files{id: id}, idle{}) }

// idle are the effects of a replay.
type idle struct{}

func (idle) call(context.Context, string, func(context.Context) (*int, error)) error {
	return errors.New("a replay calls no effect")
}
func (idle) body() {}

// audit is one pass through the body.
type audit struct {
	in  Input
	own *files
	fx  effects

	entries []Entry
	regular []Name // of the entries
	results []File // beside regular
}

func (a *audit) run(ctx loom.Context) (Summary, error) {
	if err := a.list(ctx); err != nil {
		return Summary{}, err
	}
	if err := a.inspect(ctx); err != nil {
		return Summary{}, err
	}
	return loom.Do(ctx, stepSummary, func(ctx context.Context) (s Summary, err error) {
		err = a.fx.call(ctx, stepSummary, func(context.Context) (*int, error) {
			s = summarise(a.entries, a.results)
			s.Report = a.in.Report
			return nil, writeReport(string(a.in.Report), reportHead{
				Schema: "loom.demo/1", Execution: a.own.id, Root: a.in.Root, Summary: s,
			}, a.entries, a.results)
		})
		return s, err
	})
}

// list takes the tree page by page; most trees are one.
func (a *audit) list(ctx loom.Context) error {
	for after, more := Name(""), true; more; {
		page, err := loom.Do(ctx, stepList, func(ctx context.Context) (page Page, err error) {
			err = a.fx.call(ctx, stepList, func(ctx context.Context) (*int, error) {
				if page, err = list(ctx, string(a.in.Root), after, a.own); err != nil {
					return nil, err
				}
				n := len(regularOf(page.Entries))
				return &n, nil
			})
			return page, err
		}, loom.Args(after))
		if err != nil {
			return err
		}
		a.entries = append(a.entries, page.Entries...)
		if more = page.More && len(page.Entries) > 0; more {
			after = page.Entries[len(page.Entries)-1].Path
		}
	}
	a.regular = regularOf(a.entries)
	return nil
}

func regularOf(entries []Entry) (names []Name) {
	for _, e := range entries {
		if e.Kind == "" {
			names = append(names, e.Path)
		}
	}
	return names
}

// inspect audits the files, one effect each. Each branch takes the next file from
// the list when it is done with its last: branches run one at a time and may share
// it.
func (a *audit) inspect(ctx loom.Context) error {
	a.results = make([]File, len(a.regular))
	next := 0
	var takers []*loom.Future[struct{}]
	for range min(InFlight, len(a.regular)) {
		takers = append(takers, loom.Go(ctx, "take", func(ctx loom.Context) (none struct{}, err error) {
			for next < len(a.regular) {
				i := next
				next++
				if a.results[i], err = a.file(ctx, a.regular[i]); err != nil {
					return none, err
				}
			}
			return none, nil
		}))
	}
	_, err := loom.All(ctx, takers...)
	return err
}

func (a *audit) file(ctx loom.Context, path Name) (File, error) {
	return loom.Do(ctx, stepFile, func(ctx context.Context) (f File, err error) {
		err = a.fx.call(ctx, stepFile, func(ctx context.Context) (*int, error) {
			f, err = inspect(ctx, string(a.in.Root), path)
			return nil, err
		})
		return f, err
	}, loom.Args(path))
}
