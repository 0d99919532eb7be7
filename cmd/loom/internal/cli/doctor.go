package cli

import (
	"fmt"
	"time"

	"github.com/loomwork/loom/cmd/loom/internal/checkup"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/cmd/loom/internal/screen"
	"github.com/loomwork/loom/sqlite"
	"github.com/spf13/cobra"
)

// examined is the data of "doctor --json".
type examined struct {
	Store    string            `json:"store"`
	ChosenBy string            `json:"chosenBy"` // --store, LOOM_STORE or default
	Findings []checkup.Finding `json:"findings"`
	Failed   int               `json:"failed"`
}

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "check the store, its nodes and executions, and this terminal",
		Long: `doctor says which store won (--store, LOOM_STORE or ./loom.db) and looks at everything
that its promises rest on. Each line is ok, warn or fail, with a fix. It exits with 7
if a line fails, with 3 if there is no store.`,
		Args: cobra.NoArgs,
		RunE: verb("loom doctor --help", func(c *cobra.Command, _ []string) error {
			p, err := a.place()
			if err != nil {
				return err
			}
			var cu checkup.Checkup
			v := versionsOf()
			cu.Note("version", checkup.OK, "", "loom %s, %s, kernel ABI %s, event schema %s", v.Version, v.Go, v.KernelABI, v.EventSchema)
			cu.Note("store", checkup.OK, "", "%s (%s)", p.url, p.by)
			missing := a.examineStore(c, p, &cu)
			cu.Zones()
			a.terminal(&cu)
			out := examined{Store: p.url, ChosenBy: p.by, Findings: cu.Findings, Failed: cu.Failed()}
			if a.flags.json {
				if err := a.screen.Emit("doctor", out); err != nil {
					return err
				}
			} else {
				printFindings(a.screen, cu.Findings)
			}
			switch {
			case missing != nil:
				return missing
			case out.Failed > 0:
				return fault.New(fault.Problem, "check_failed", fmt.Sprintf("%d checks failed", out.Failed), p.again("doctor --json"))
			}
			return nil
		}),
	}
}

// examineStore returns why there is no store, nil if there is one.
func (a *app) examineStore(c *cobra.Command, p place, cu *checkup.Checkup) error {
	ctx := c.Context()
	if err := present(p); err != nil {
		cu.Note("open", checkup.Fail, "loom demo makes one; --store sqlite:PATH names another", "%s", fault.Of(err, "").Message)
		return err
	}
	src := sqlite.Open(p.path, sqlite.MustExist())
	began := time.Now()
	st, shut, err := src.OpenStore(ctx)
	if err != nil {
		e := unopened(p, err)
		cu.Note("open", checkup.Fail, remedy(p, e), "%s", e.Message)
		if e.Exit == fault.NotFound || e.Exit == fault.Forbidden || e.Exit == fault.Usage {
			return e
		}
		return nil
	}
	defer func() { _ = shut() }() // it was looked at
	cu.Note("open", checkup.OK, "", "opened for writing in %s", screen.Span(time.Since(began)))
	cu.Store(ctx, st, src.DB(), a.now())
	return nil
}

func (a *app) terminal(cu *checkup.Checkup) {
	what := "not a terminal: times as RFC 3339, no colour"
	if a.screen.OutTerminal {
		what = "a terminal"
		if !a.screen.Colour {
			what += ", without colour"
		}
	}
	cu.Note("terminal", checkup.OK, "", "standard output is %s", what)
}

func printFindings(s *screen.Screen, findings []checkup.Finding) {
	for _, f := range findings {
		word := fmt.Sprintf("%-4s", f.Verdict)
		if s.Colour {
			word = s.Status(string(f.Verdict)) + word[len(f.Verdict):]
		}
		s.Printf("%s  %-12s  %s\n", word, f.Check, s.Text(f.Detail))
		if f.Fix != "" {
			s.Printf("      %-12s  fix: %s\n", "", f.Fix)
		}
	}
}
