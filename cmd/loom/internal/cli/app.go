// Package cli is the command tree of loom: one verb a file. What the verbs share
// stands in app.go (flags, errors, exit codes) and store.go (which store).
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/cmd/loom/internal/screen"
	"github.com/spf13/cobra"
)

// app is one call of the command.
type app struct {
	stdin  io.Reader
	getenv func(string) string
	now    func() time.Time
	flows  []loom.AnyFlow // what replay replays

	flags struct {
		store  string
		json   bool
		colour string
		times  string
	}
	screen *screen.Screen // set before a verb runs
}

// Main runs the command line of this process, over flows, and returns its exit code.
func Main(flows ...loom.AnyFlow) int {
	if isVetTool(os.Args[1:]) {
		vetTool()
	}
	a := &app{stdin: os.Stdin, getenv: os.Getenv, now: time.Now, flows: flows}
	ctx, stop := interruptible()
	defer stop()
	return a.run(ctx, os.Args[1:])
}

// interruptible returns a context that ends at the first interrupt or request to
// terminate. A second one ends the process.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-c; ok {
			signal.Stop(c)
			cancel(fault.ErrInterrupted)
		}
	}()
	return ctx, func() { signal.Stop(c); close(c) }
}

// run runs one command line.
func (a *app) run(ctx context.Context, args []string) int {
	// Flags may be wrong: until they are read, errors are shown by what is asked
	// for in so many words.
	a.flags.json = wantsJSON(args)
	a.screen, _ = screen.New(a.flags.json, "auto", "auto", a.getenv)
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return int(fault.OK)
	}
	var known *fault.Error
	if !errors.As(err, &known) {
		// What is not ours is cobra's: a verb or a flag that there is not.
		known = fault.New(fault.Usage, "usage", firstLine(err.Error()), helpFor(args, root))
	}
	a.report(known)
	return int(known.Exit)
}

func wantsJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	return false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// helpFor returns the help of the verb in args.
func helpFor(args []string, root *cobra.Command) string {
	if c, _, err := root.Find(args); err == nil && c != root {
		return "loom " + c.Name() + " --help"
	}
	return "loom --help"
}

// report shows an error: on standard error, as an envelope with --json.
func (a *app) report(e *fault.Error) {
	if a.flags.json {
		_ = a.screen.EmitError("error", struct {
			Code    string     `json:"code"`
			Message string     `json:"message"`
			Try     string     `json:"try,omitempty"`
			Exit    fault.Exit `json:"exit"`
		}{e.Code, e.Message, e.Try, e.Exit})
		return
	}
	message := e.Message
	if a.screen.ErrTerminal {
		message = screen.Inert(message)
	}
	fmt.Fprintf(a.screen.Err, "loom: %s: %s\n", e.Code, message)
	if e.Try != "" {
		fmt.Fprintf(a.screen.Err, "  try: %s\n", e.Try)
	}
}

// root returns the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "loom",
		Short: "durable executions: look at them, repair them, see them survive",
		Long: `loom looks at the executions in a store, repairs them, and demonstrates them.

Data goes to standard output and everything else to standard error. With --json
each verb prints one envelope, {"schema":"loom.cli/1","kind":…,"data":…}; streams
print one a line.

The store is, in this order: --store, the variable LOOM_STORE, ./loom.db. An id may
be cut short as long as it is the beginning of one id alone.

Exit codes: 0 success · 1 unexpected failure · 2 usage · 3 not found ·
4 not permitted · 5 conflict · 6 the execution failed or was cancelled ·
7 a check found a problem · 8 waiting (with --no-wait) · 124 timed out ·
130 interrupted`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			s, err := screen.New(a.flags.json, a.flags.colour, a.flags.times, a.getenv)
			a.screen = s
			return err
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.StringVar(&a.flags.store, "store", "", "the store, `sqlite:PATH` (default: $LOOM_STORE, then sqlite:loom.db)")
	f.BoolVar(&a.flags.json, "json", false, "print JSON envelopes")
	f.StringVar(&a.flags.colour, "color", "auto", "auto, always or never; NO_COLOR and TERM=dumb are heeded")
	f.StringVar(&a.flags.times, "time", "auto", "auto, iso, relative or unix")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.demo(), a.demoWorker(), a.ls(), a.show(), a.log(), a.replay(), a.result(), a.signal(), a.cancel(), a.pause(), a.resume(), a.terminate(), a.recover(), a.doctor(), a.vet(), a.version())
	return root
}

// verb makes errors of fn people's errors. try is the command to suggest where an
// error suggests none.
func verb(try string, fn func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := fn(c, args); err != nil {
			return fault.Of(err, try)
		}
		return nil
	}
}
