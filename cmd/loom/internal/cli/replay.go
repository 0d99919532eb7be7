package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/demo"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/spf13/cobra"
)

// replayed is the data of "replay --json".
type replayed struct {
	Execution string   `json:"execution"`
	Flow      string   `json:"flow"`
	Version   string   `json:"version,omitempty"`
	Events    int      `json:"events"`
	Status    string   `json:"status"` // by the log
	Next      []string `json:"next"`   // what the code asks for behind the end of the log
	// Diverged is where code and log part, nothing if they do not.
	Diverged *divergence `json:"diverged,omitempty"`
}

type divergence struct {
	Sequence int64  `json:"sequence"`
	Recorded string `json:"recorded"`
	Asked    string `json:"asked"`
}

func (a *app) replay() *cobra.Command {
	return &cobra.Command{
		Use:   "replay ID|FILE",
		Short: "try this program's flows against a recorded log",
		Long: `replay drives the code of a flow over a recorded log, as a worker does that takes the
execution over: effects are not called, their results come from the log, and nothing
is written. It exits with 7 if the code does not ask for what the log holds, and shows
what is recorded against what is asked.

The log is that of an execution in the store, or a file that "loom log --export" wrote;
an argument that names a file is a file, and - is standard input.

A program replays the flows that it was built with, and loom itself has those of "loom
demo" alone. For your own, build the same command from package loomcli.`,
		Example:           "  loom replay order-42\n  loom log order-42 --export - | shop replay -",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: verb("loom replay --help", func(c *cobra.Command, args []string) error {
			f, err := a.logFile(args[0])
			if err != nil {
				return err
			}
			if f != nil {
				defer f.Close()
				return a.replayLog(c.Context(), event.ReadLog(f))
			}
			return a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
				id, err := o.resolve(ctx, args[0])
				if err != nil {
					return err
				}
				return a.replayLog(ctx, o.rt.Log(ctx, id, 0))
			})(c, args)
		}),
	}
}

// logFile opens what names a file, nil if nothing of that name is one.
func (a *app) logFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	return os.Open(name)
}

func (a *app) replayLog(ctx context.Context, log iter.Seq2[event.Envelope, error]) error {
	log, demos := withDemo(log)
	report, err := loom.Replay(ctx, log, append(demos, a.flows...)...)
	var parted *loom.DivergedError
	if err != nil && !errors.As(err, &parted) {
		return a.unreplayed(err)
	}
	out := replayed{Execution: string(report.ID), Flow: report.Flow, Version: report.Version, Events: report.Events,
		Status: string(report.Status), Next: append([]string{}, report.Next...)}
	if parted != nil {
		out.Diverged = &divergence{Sequence: int64(parted.Sequence), Recorded: parted.Recorded, Asked: parted.Asked}
	}
	if a.flags.json {
		if err := a.screen.Emit("replay", out); err != nil {
			return err
		}
	} else {
		a.printReplay(out)
	}
	if parted == nil {
		return nil
	}
	return &fault.Error{Code: parted.LoomCode(), Exit: fault.Problem, Err: err, Try: "loom vet ./...",
		Message: fmt.Sprintf("execution %s diverges at sequence %d", out.Execution, parted.Sequence)}
}

func (a *app) printReplay(out replayed) {
	p := printer{a.screen, a.now()}
	p.row("execution", p.Text(out.Execution))
	p.row("flow", p.Text((store.FlowVersion{Flow: out.Flow, Version: out.Version}).String()))
	p.row("status", p.Status(out.Status))
	p.row("events", count(int64(out.Events)))
	if d := out.Diverged; d != nil {
		p.row("diverges", fmt.Sprintf("at sequence %d", d.Sequence))
		p.row("recorded", p.Text(d.Recorded))
		p.row("asked", p.Text(d.Asked))
		return
	}
	p.row("replays", "the code asks for what the log holds")
	for _, next := range out.Next {
		p.row("next", p.Text(next))
	}
}

// unreplayed says how a log is replayed whose flow is not there.
func (a *app) unreplayed(err error) error {
	var unknown *loom.UnknownFlowError
	if !errors.As(err, &unknown) {
		return err
	}
	return &fault.Error{Code: unknown.LoomCode(), Exit: fault.Usage, Err: err, Message: fault.Plain(err.Error()),
		Try: "replay it with a program that has the flow: loom replay --help"}
}

// withDemo returns the log unread, and the demo's flow if the log is of one.
func withDemo(log iter.Seq2[event.Envelope, error]) (same iter.Seq2[event.Envelope, error], flows []loom.AnyFlow) {
	next, stop := iter.Pull2(log)
	first, err, ok := next()
	if ok && err == nil {
		flows = append(flows, demo.Flow(string(first.Execution)))
	}
	return func(yield func(event.Envelope, error) bool) {
		defer stop()
		for ; ok; first, err, ok = next() {
			if !yield(first, err) {
				return
			}
		}
	}, flows
}
