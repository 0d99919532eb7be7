package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/cmd/loom/internal/view"
	"github.com/loomwork/loom/event"
	"github.com/spf13/cobra"
)

func (a *app) log() *cobra.Command {
	var follow bool
	var from int64
	var file string
	c := &cobra.Command{
		Use:   "log ID",
		Short: "print the events of an execution",
		Long: `log prints the durable events of an execution, one a line. With --json each line is
an envelope of kind "event". With --follow it goes on until the execution has ended,
whichever process drives it.

With --export the whole log goes to a file, byte for byte as it was recorded: what
loomtest.ReplayFile tries today's code against.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, c *cobra.Command, args []string) error {
			if from < 0 {
				return fault.New(fault.Usage, "invalid_flag", "--from cannot be negative: the first event has sequence 0", "loom log --help")
			}
			id, err := o.resolve(ctx, args[0])
			if err != nil {
				return err
			}
			if c.Flags().Changed("export") {
				return a.export(ctx, o, id, file)
			}
			if follow {
				return a.events(o.rt.Follow(ctx, id, from))
			}
			out := a.screen.Out
			w := bufio.NewWriterSize(out, 64<<10)
			a.screen.Out = w
			err = a.events(o.rt.Log(ctx, id, from))
			a.screen.Out = out
			if failed := w.Flush(); err == nil {
				err = failed
			}
			return err
		}),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "wait for more until the execution has ended")
	c.Flags().Int64Var(&from, "from", 0, "begin at this `sequence`")
	c.Flags().StringVar(&file, "export", "", "write the whole log to a new `file`, - for standard output")
	c.MarkFlagsMutuallyExclusive("export", "follow")
	c.MarkFlagsMutuallyExclusive("export", "from")
	return c
}

func (a *app) events(log iter.Seq2[event.Envelope, error]) error {
	p := printer{a.screen, a.now()}
	for e, err := range log {
		if err != nil {
			return err
		}
		if a.flags.json {
			if err := a.screen.Emit("event", view.EventOf(e)); err != nil {
				return err
			}
			continue
		}
		p.now = a.now()
		p.event(e)
	}
	return nil
}

// event prints one event on one line.
func (p printer) event(e event.Envelope) {
	var what struct {
		Op   string `json:"op"`
		Flow string `json:"flow"`
	}
	_ = json.Unmarshal(e.Payload, &what) // a payload that is none of ours has neither
	p.Printf("%6d  %s  %-22s %s  %s\n", e.Sequence, p.Time(e.Time.Time(), p.now), p.Cell(string(e.Kind)),
		p.Cell(fmt.Sprintf("%-16s", what.Op+what.Flow)), p.preview(e.Payload, 160))
}
