package cli

import (
	"context"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/spf13/cobra"
)

// terminated is the data of "terminate --json".
type terminated struct {
	Execution string `json:"execution"`
	Reason    string `json:"reason,omitempty"`
	// Ended: the execution has ended, and that is durable.
	Ended bool `json:"ended"`
}

func (a *app) terminate() *cobra.Command {
	var reason string
	var yes bool
	c := &cobra.Command{
		Use:   "terminate ID --yes",
		Short: "end an execution at once, without asking it",
		Long: `terminate ends an execution at once, whoever drives it and whatever it does. Its body is
not told, so nothing is cleaned up or compensated, and what an effect that runs returns
is not recorded. "loom cancel" is the gentle form.

It cannot be taken back, and needs --yes.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			id, err := o.whole(ctx, "terminate", args[0])
			if err != nil {
				return err
			}
			if !yes {
				return fault.New(fault.Usage, "usage", "terminating "+id+" cannot be taken back: say --yes", o.again("terminate %s --yes", id))
			}
			if err := o.rt.Terminate(ctx, id, reason); err != nil {
				return undelivered(err, o, id)
			}
			if a.flags.json {
				return a.screen.Emit("terminate", terminated{Execution: id, Reason: reason, Ended: true})
			}
			a.screen.Printf("terminated %s\n", id)
			return nil
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for people")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}
