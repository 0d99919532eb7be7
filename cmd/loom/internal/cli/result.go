package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/cmd/loom/internal/view"
	"github.com/loomwork/loom/fold"
	"github.com/spf13/cobra"
)

// outcome is the data of "result --json".
type outcome struct {
	Execution string          `json:"execution"`
	Status    string          `json:"status"`
	Result    json.RawMessage `json:"result,omitempty"`
	Failure   *view.Failure   `json:"failure,omitempty"`
}

func (a *app) result() *cobra.Command {
	var wait, noWait bool
	var limit time.Duration
	c := &cobra.Command{
		Use:   "result ID",
		Short: "print the result of an execution, waiting for it",
		Long: `result waits until an execution has ended, whichever process drives it, and prints its
result as JSON. It exits with 6 if the execution failed or was cancelled, with 8 if
it has not ended and --no-wait was said, with 124 if --timeout passed.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			id, err := o.resolve(ctx, args[0])
			if err != nil {
				return err
			}
			if noWait || !wait {
				sum, err := o.rt.Summary(ctx, id)
				if err != nil {
					return err
				}
				if !sum.Status.Terminal() {
					return a.unended(o, sum)
				}
			}
			if limit > 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, limit)
				defer stop()
			}
			raw, err := awaitResult(ctx, o, id)
			return a.ended(o, id, raw, err)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", true, "wait until the execution has ended")
	c.Flags().BoolVar(&noWait, "no-wait", false, "exit with 8 if it has not ended")
	c.Flags().DurationVar(&limit, "timeout", 0, "wait so long at most; 0 for ever")
	c.MarkFlagsMutuallyExclusive("wait", "no-wait")
	return c
}

func awaitResult(ctx context.Context, o *opened, id string) (json.RawMessage, error) {
	run, err := loom.Attach[json.RawMessage](o.rt, id)
	if err != nil {
		return nil, err
	}
	return run.Result(ctx)
}

// unended answers --no-wait.
func (a *app) unended(o *opened, sum loom.Summary) error {
	if a.flags.json {
		if err := a.screen.Emit("result", outcome{Execution: sum.ID, Status: string(sum.Status)}); err != nil {
			return err
		}
	}
	return fault.New(fault.Waiting, "not_ended", fmt.Sprintf("execution %s has not ended", sum.ID), o.again("show %s", sum.ID))
}

// ended prints how an execution ended.
func (a *app) ended(o *opened, id string, raw json.RawMessage, err error) error {
	var failed *loom.ExecutionError
	switch {
	case err == nil:
		if a.flags.json {
			return a.screen.Emit("result", outcome{Execution: id, Status: string(fold.Completed), Result: raw})
		}
		text := string(raw)
		a.screen.Printf("%s\n", a.screen.Text(text))
		return nil
	case errors.As(err, &failed):
		if a.flags.json {
			out := outcome{Execution: id, Status: string(failed.Status), Failure: &view.Failure{
				Code: failed.Code, Message: failed.Message, Chain: failed.Chain}}
			if err := a.screen.Emit("result", out); err != nil {
				return err
			}
		}
		return &fault.Error{Code: "execution_" + string(failed.Status), Exit: fault.Ended, Err: err,
			Message: endSentence(id, failed), Try: o.again("show %s", id)}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.Of(err, o.again("show %s", id))
	}
	return err
}

func endSentence(id string, e *loom.ExecutionError) string {
	s := fmt.Sprintf("execution %s %s", id, endWord(e.Status))
	if why := reason(e.Code, e.Message); why != string(e.Status) {
		s += ": " + why
	}
	return s
}

// reason is a recorded error on one line: its code, and its message where that says
// more.
func reason(code, message string) string {
	message = fault.Plain(message)
	if message == code {
		return code
	}
	return code + ": " + message
}

func endWord(s fold.Status) string {
	switch s {
	case fold.Cancelled:
		return "was cancelled"
	case fold.Terminated:
		return "was terminated"
	}
	return string(s)
}
