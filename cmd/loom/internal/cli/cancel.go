package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// cancelled is the data of "cancel --json".
type cancelled struct {
	Execution string `json:"execution"`
	Reason    string `json:"reason,omitempty"`
	// Requested: the request is durable; the execution ends when it gives way.
	Requested bool `json:"requested"`
}

func (a *app) cancel() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "ask an execution to give way",
		Long: `cancel asks an execution to give way. What it sleeps or awaits ends with ErrCancelled;
the context of an effect that runs ends, and the effect is waited for, because what
comes after must know the truth. Every verb that the body begins later returns
ErrCancelled and does nothing; when the body has returned, what it registered with
Cleanup and Compensate runs, and then the execution ends.

cancel returns once the request is durable; "loom result ID" waits for the end.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			id, err := o.whole(ctx, "cancel", args[0])
			if err != nil {
				return err
			}
			if err := o.rt.Cancel(ctx, id, reason); err != nil {
				return undelivered(err, o, id)
			}
			if a.flags.json {
				return a.screen.Emit("cancel", cancelled{Execution: id, Reason: reason, Requested: true})
			}
			a.screen.Printf("asked %s to give way\n", id)
			return nil
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for people")
	return c
}
