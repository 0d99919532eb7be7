package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
)

// Figures are what the witnesses say of a finished audit. Those with a JSON name are
// the contract of "loom demo --json".
type Figures struct {
	Execution        string `json:"execution"`
	Files            int    `json:"files"` // regular files in the listing
	Bytes            int64  `json:"bytes"` // of their content
	Kills            int    `json:"kills"` // workers that ended before the work did
	Effects          int    `json:"effects"`
	Repeated         int    `json:"repeated"` // calls that were not the first of their effect
	InFlightLimit    int    `json:"inFlightLimit"`
	Lost             int    `json:"lost"` // durable results that were not used, and files without one
	DuplicateRefused bool   `json:"duplicateRefused"`
	Report           string `json:"report"`

	Root     string        `json:"-"`
	Ledger   string        `json:"-"`
	DB       string        `json:"-"`
	Refusal  string        `json:"-"` // what the second start was told
	InFlight int           `json:"-"` // most effects at one moment, as seen in the ledger
	Asked    int           `json:"-"` // kills asked for in this call
	Killed   int           `json:"-"` // kills made in this call
	Events   int64         `json:"-"` // in the log
	Torn     int           `json:"-"` // lines of the ledger that a kill cut
	Summary  Summary       `json:"-"`
	Took     time.Duration `json:"-"`
	Found    bool          `json:"-"` // the audit had been finished before
	Broken   []string      `json:"-"` // promises that do not hold
}

// figures counts, and puts the second start to the test.
func (c *conductor) figures(ctx context.Context) (*Figures, error) {
	events, _, err := c.log.look(ctx)
	if err != nil {
		return nil, err
	}
	found := c.log.next == 0 // no life was needed to get here
	if err := c.log.catchUp(ctx, events); err != nil {
		return nil, err
	}
	if err := c.outcome(ctx); err != nil {
		return nil, err
	}
	f := &Figures{Execution: c.o.ID, Report: c.own.report(), Root: c.root, Ledger: c.own.ledger(), DB: c.own.db(),
		Asked: c.o.Kills, Killed: c.o.Kills - c.asked, Events: events, InFlightLimit: InFlight, Found: found}
	if err := c.secondStart(ctx, f); err != nil {
		return nil, err
	}
	entries, files, missing, err := c.log.audit()
	if err != nil {
		return nil, err
	}
	var results []File
	for _, path := range regularOf(entries) {
		file := files[path]
		results = append(results, file)
		f.Files++
		f.Bytes += file.Bytes
	}
	f.Summary = summarise(entries, results)
	t := c.tally
	f.Kills, f.Effects, f.Repeated, f.InFlight, f.Torn = t.kills(), t.effects, t.repeated(), t.inFlight, t.torn
	f.Lost = len(c.log.again) + missing
	f.Took = time.Since(c.began)
	f.judge(c)
	return f, nil
}

// outcome returns how the execution ended, as an error unless it completed.
func (c *conductor) outcome(ctx context.Context) error {
	run, err := loom.Attach[Summary](c.rt, c.o.ID)
	if err != nil {
		return err
	}
	if _, err = run.Result(ctx); err == nil {
		return nil
	}
	var ended *loom.ExecutionError
	if !errors.As(err, &ended) {
		return err
	}
	what := "failed"
	if ended.Status == fold.Cancelled {
		what = "was cancelled"
	}
	return &fault.Error{Code: "execution_" + string(ended.Status), Exit: fault.Ended, Err: err,
		Message: fmt.Sprintf("the audit %s %s: %s", c.o.ID, what, ended.Message),
		Try:     fmt.Sprintf("loom show %s --store sqlite:%s", c.o.ID, Name(c.own.db()).Text())}
}

// secondStart starts the id again, on a runtime that has the flow and would run it.
func (c *conductor) secondStart(ctx context.Context, f *Figures) error {
	if err := c.tally.read(c.log.called); err != nil {
		return err
	}
	effects, events := c.tally.effects, f.Events
	w := &witness{}
	flow := newFlow(c.own, w)
	rt, err := loom.Open(ctx, store.Opened(c.st), loom.Flows(flow))
	if err != nil {
		return err
	}
	_, err = flow.Start(ctx, rt, inputOf(c.own, Name(c.root)), loom.ID(c.o.ID))
	if closing := rt.Close(); closing != nil {
		return closing
	}
	var exists *loom.ExecutionAlreadyExistsError
	refused := errors.As(err, &exists)
	switch {
	case refused:
		f.Refusal = err.Error()
	case err != nil:
		return err
	default:
		f.Refusal = "it was not refused"
	}
	if err := c.tally.read(c.log.called); err != nil {
		return err
	}
	now, _, err := c.log.look(ctx)
	if err != nil {
		return err
	}
	f.DuplicateRefused = refused && exists.SameRequest && w.bodies.Load() == 0 && w.effects.Load() == 0 &&
		c.tally.effects == effects && now == events
	return nil
}

// witness takes the place of a worker's effects in a run that must not happen.
type witness struct{ bodies, effects atomic.Int64 }

func (w *witness) body() { w.bodies.Add(1) }

func (w *witness) call(context.Context, string, func(context.Context) (*int, error)) error {
	w.effects.Add(1)
	return errors.New("a second start called an effect")
}

// judge lists what was promised and does not hold.
func (f *Figures) judge(c *conductor) {
	broken := func(bad bool, format string, args ...any) {
		if bad {
			f.Broken = append(f.Broken, fmt.Sprintf(format, args...))
		}
	}
	broken(f.Repeated > f.Kills*InFlight, "%d effects were repeated, at most %d may be", f.Repeated, f.Kills*InFlight)
	broken(f.Lost > 0, "%d results were lost", f.Lost)
	broken(!f.DuplicateRefused, "a second start of the id was not refused without a trace: %s", f.Refusal)
	broken(f.InFlight > InFlight, "%d effects were in flight at once, at most %d may be", f.InFlight, InFlight)
	unseen := 0
	for op := range c.log.settled {
		if c.tally.calls[op] == 0 {
			unseen++
		}
	}
	broken(unseen > f.Torn, "%d effects have a result in the log and no call in the ledger %s", unseen, Name(f.Ledger).Text())
	_, err := os.Stat(f.Report)
	broken(err != nil, "the report is not there: %v", err)
}
