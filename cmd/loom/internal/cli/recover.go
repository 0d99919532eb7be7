package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/cmd/loom/internal/repair"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/spf13/cobra"
)

// recovered is the data of "recover --json".
type recovered struct {
	DryRun     bool          `json:"dryRun,omitempty"`
	Executions []recoveredID `json:"executions"`
}

// recoveredID is what was the matter with one execution, and what was done.
type recoveredID struct {
	ID       string `json:"id"`
	Flow     string `json:"flow"`
	Why      string `json:"why"` // abandoned, stuck, parked, driven
	Owner    string `json:"owner,omitempty"`
	Strikes  int    `json:"strikes"`
	Released bool   `json:"released"`
	Noted    bool   `json:"noted"` // in the log; strikes are 0 again
	Done     string `json:"done"`  // one sentence
}

func (a *app) recover() *cobra.Command {
	var force, dry bool
	c := &cobra.Command{
		Use:   "recover [ID]",
		Short: "release what dead nodes left behind",
		Long: `recover without an ID lists the executions whose owner is dead (abandoned) and those
that lost their owner too often without progress (stuck), and releases the abandoned:
nobody owns them, and a worker that knows their flow takes them at once.

recover ID takes one execution from its owner, whatever is the matter with it, and
releases it; stuck ones too. An event in the log says that an operator did so; the
count of lost owners starts anew. It refuses (exit 5) while the owner is alive: with
--force it takes the execution all the same, and an effect that runs there may be
called again elsewhere.

Neither drives anything: that is for a worker.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			w, err := repair.Open(ctx, o.st)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if force {
					return fault.New(fault.Usage, "usage", "--force needs an ID: it takes an execution from a node that lives", "loom recover --help")
				}
				return a.recoverAll(ctx, o, w, dry)
			}
			return a.recoverOne(ctx, o, w, args[0], force, dry)
		}),
	}
	c.Flags().BoolVar(&force, "force", false, "with an ID: take it even from a node that is alive")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be done")
	return c
}

func (a *app) recoverAll(ctx context.Context, o *opened, w *repair.Ward, dry bool) error {
	cases, err := w.Cases(ctx)
	if err != nil {
		return err
	}
	out := recovered{DryRun: dry, Executions: []recoveredID{}}
	for _, c := range cases {
		r := recoveredOf(c.Head, c.Why)
		switch {
		case c.Why == repair.Stuck:
			r.Done = fmt.Sprintf("left alone: it lost its owner %d times without progress; %s", c.Head.Strikes, o.again("recover %s", r.ID))
		case c.Head.Strikes+1 >= store.MaxStrikes:
			// Being released counts as losing an owner; a worker's own claim does too,
			// but leaves the execution with one.
			r.Done = fmt.Sprintf("left for a worker to take: released once more it would be stuck; %s", o.again("recover %s", r.ID))
		case dry:
			r.Done = fmt.Sprintf("would be released from dead node %s", c.Head.Owner)
		default:
			switch err := w.Release(ctx, c.Head); {
			case errors.Is(err, repair.ErrMoved):
				r.Done = "left alone: a node took it meanwhile"
			case err != nil:
				return err
			default:
				r.Released = true
				r.Done = fmt.Sprintf("released from dead node %s", c.Head.Owner)
			}
		}
		out.Executions = append(out.Executions, r)
	}
	return a.printRecovered(out)
}

func (a *app) recoverOne(ctx context.Context, o *opened, w *repair.Ward, text string, force, dry bool) error {
	id, err := o.whole(ctx, "recover", text)
	if err != nil {
		return err
	}
	h, ok, err := o.st.Index.Get(ctx, event.ExecutionID(id))
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.NotFound, "not_found", fmt.Sprintf("execution %s is gone", id), o.again("ls"))
	}
	if h.State == store.StatePaused {
		return fault.New(fault.Conflict, "paused", fmt.Sprintf("execution %s is paused: nobody is meant to go on with it", id), o.again("resume %s", id))
	}
	if h.State != store.StateRunning {
		return fault.New(fault.Conflict, "ended", fmt.Sprintf("execution %s is %s: there is nothing to recover", id, h.State), o.again("show %s", id))
	}
	why := w.Judge(h)
	if why == repair.Driven && !force {
		return fault.New(fault.Conflict, "owner_alive",
			fmt.Sprintf("node %s is alive and drives %s; taking it away may repeat the effect that runs", h.Owner, id), o.again("recover %s --force", id))
	}
	r := recoveredOf(h, why)
	if dry {
		r.Done = "would be released, with a note in its log"
		return a.printRecovered(recovered{DryRun: true, Executions: []recoveredID{r}})
	}
	act, err := w.Recover(ctx, h, force)
	if errors.Is(err, repair.ErrMoved) {
		return fault.New(fault.Conflict, "moved", fmt.Sprintf("execution %s moved meanwhile, so somebody drives it", id), o.again("show %s", id))
	}
	if err != nil {
		return err
	}
	r.Released, r.Noted, r.Done = true, act.Noted, actText(act)
	return a.printRecovered(recovered{Executions: []recoveredID{r}})
}

func actText(a repair.Act) string {
	s := "nobody owned it"
	switch {
	case a.TakenFrom != "" && a.WasAlive:
		s = fmt.Sprintf("taken by force from node %s, which is alive", a.TakenFrom)
	case a.TakenFrom != "":
		s = fmt.Sprintf("taken from dead node %s", a.TakenFrom)
	}
	if a.Picked {
		return s + "; a worker took it at once"
	}
	s += "; released, due now"
	if a.Strikes > 0 {
		s += fmt.Sprintf("; strikes %d → 0", a.Strikes)
	}
	return s + "; noted in the log"
}

func recoveredOf(h store.Head, why repair.Why) recoveredID {
	return recoveredID{ID: string(h.Execution), Flow: h.Index.Flow, Why: string(why), Owner: string(h.Owner), Strikes: h.Strikes}
}

func (a *app) printRecovered(out recovered) error {
	if a.flags.json {
		return a.screen.Emit("recover", out)
	}
	if len(out.Executions) == 0 {
		fmt.Fprintln(a.screen.Err, "loom: nothing is abandoned or stuck")
		return nil
	}
	for _, r := range out.Executions {
		a.screen.Printf("%s  %s  %s: %s\n", r.ID, a.screen.Text(r.Flow), a.screen.Status(r.Why), r.Done)
	}
	return nil
}
