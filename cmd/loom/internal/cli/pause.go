package cli

import (
	"context"
	"errors"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/spf13/cobra"
)

// halted is the data of "pause --json" and "resume --json".
type halted struct {
	Execution string `json:"execution"`
	Paused    bool   `json:"paused"`
	Reason    string `json:"reason,omitempty"`
}

func (a *app) pause() *cobra.Command {
	var reason string
	var limit time.Duration
	c := &cobra.Command{
		Use:   "pause ID",
		Short: "halt an execution until it is resumed",
		Long: `pause halts an execution: a step that is being called is waited for and recorded, and
then nothing of it happens, whatever messages come and timers pass, until "loom resume
ID". A cancel waits as well; "loom terminate ID" does not.

pause returns once the execution is paused. It exits with 124 if --timeout passed before,
because a step takes its time; the request stays, and takes hold when it can.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			id, err := o.whole(ctx, "pause", args[0])
			if err != nil {
				return err
			}
			if limit > 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, limit)
				defer stop()
			}
			if err := o.rt.Pause(ctx, id, reason); err != nil {
				return undelivered(err, o, id)
			}
			if a.flags.json {
				return a.screen.Emit("pause", halted{Execution: id, Paused: true, Reason: reason})
			}
			a.screen.Printf("paused %s\n", id)
			return nil
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for people")
	c.Flags().DurationVar(&limit, "timeout", 0, "wait so long at most; 0 for ever")
	return c
}

func (a *app) resume() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:               "resume ID",
		Short:             "let a paused execution go on",
		Long:              `resume lets an execution go on that "loom pause" halted. What was due meanwhile is due now.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			id, err := o.whole(ctx, "resume", args[0])
			if err != nil {
				return err
			}
			err = o.rt.Resume(ctx, id, reason)
			switch {
			case errors.Is(err, loom.ErrNotPaused):
				return &fault.Error{Code: "not_paused", Exit: fault.Conflict, Err: err, Message: "execution " + id + " is not paused", Try: o.again("show %s", id)}
			case err != nil:
				return undelivered(err, o, id)
			case a.flags.json:
				return a.screen.Emit("resume", halted{Execution: id, Reason: reason})
			}
			a.screen.Printf("resumed %s\n", id)
			return nil
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for people")
	return c
}
