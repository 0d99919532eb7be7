package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/cmd/loom/internal/screen"
	"github.com/loomwork/loom/cmd/loom/internal/view"
	"github.com/loomwork/loom/fold"
	"github.com/spf13/cobra"
)

// listed is the data of "ls --json".
type listed struct {
	Executions []view.Row `json:"executions"`
	// More says that there are others that fit.
	More bool `json:"more"`
}

func (a *app) ls() *cobra.Command {
	var flow, status string
	var labels, where, columns []string
	var limit int
	c := &cobra.Command{
		Use:   "ls [WORD…]",
		Short: "list executions, newest first",
		Long: `ls lists executions, newest first. A WORD is a status (running, paused, completed,
failed, cancelled), a label (name=value), or a piece of an id or of a flow's name; all
words must fit. What flows set of themselves while they run is searched with --where.`,
		Example: "  loom ls failed\n  loom ls checkout customer=42\n  loom ls --where stage=paid --columns id,shows\n  loom ls --columns id,status,updated",
		RunE: a.with("doctor", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			if limit < 0 {
				return fault.New(fault.Usage, "invalid_flag", "--limit cannot be negative; 0 shows all", "loom ls --help")
			}
			f := loom.Filter{Flow: flow, Labels: map[string]string{}, Published: map[string]string{}}
			var err error
			if status != "" && !isStatus(status) {
				return fault.New(fault.Usage, "invalid_flag", fmt.Sprintf("--status is %q; it can be running, paused, completed, failed, cancelled or terminated", status), "loom ls --help")
			}
			f.Status = fold.Status(status)
			for _, l := range labels {
				name, value, ok := strings.Cut(l, "=")
				if !ok {
					return fault.New(fault.Usage, "invalid_flag", fmt.Sprintf("--label is %q; write name=value", l), "loom ls --help")
				}
				f.Labels[name] = value
			}
			for _, w := range where {
				key, value, ok := strings.Cut(w, "=")
				if !ok {
					return fault.New(fault.Usage, "invalid_flag", fmt.Sprintf("--where is %q; write key=value", w), "loom ls --help")
				}
				f.Published[key] = value
			}
			pieces := takeWords(args, &f)
			if columns, err = checkColumns(columns); err != nil {
				return err
			}
			out := listed{Executions: []view.Row{}}
			var all []loom.Summary
			for s, err := range o.rt.List(ctx, f) {
				if err != nil {
					return err
				}
				if !fits(s, pieces) {
					continue
				}
				if limit > 0 && len(all) == limit {
					out.More = true
					break
				}
				all = append(all, s)
			}
			if a.flags.json {
				for _, s := range all {
					out.Executions = append(out.Executions, view.RowOf(s))
				}
				return a.screen.Emit("executions", out)
			}
			printList(a.screen, all, columns, a.now())
			if n := unknown(all); n > 0 {
				fmt.Fprintf(a.screen.Err, "loom: %d of these need a flow or version that no live node has: loom doctor\n", n)
			}
			if out.More {
				fmt.Fprintf(a.screen.Err, "loom: only the newest %d are shown; --limit 0 shows all\n", limit)
			}
			return nil
		}),
	}
	f := c.Flags()
	f.StringVar(&flow, "flow", "", "only executions of this `flow`")
	f.StringVar(&status, "status", "", "only running, paused, completed, failed, cancelled or terminated ones")
	f.StringArrayVar(&labels, "label", nil, "only those with this label, `name=value`; may be repeated")
	f.StringArrayVar(&where, "where", nil, "only those that show this of themselves, `key=value`; may be repeated")
	f.StringSliceVar(&columns, "columns", nil, "columns of the text, of: "+strings.Join(columnNames(), ","))
	f.IntVar(&limit, "limit", 50, "at most so many; 0 for all")
	return c
}

// unknown counts the executions that wait for a build which is not there.
func unknown(all []loom.Summary) (n int) {
	for _, s := range all {
		if s.Unknown {
			n++
		}
	}
	return n
}

func isStatus(s string) bool {
	return slices.Contains([]fold.Status{fold.Running, fold.Paused, fold.Completed, fold.Failed, fold.Cancelled, fold.Terminated}, fold.Status(s))
}

// takeWords puts what words say into a filter and returns those that are pieces of an
// id or a flow.
func takeWords(words []string, f *loom.Filter) (pieces []string) {
	for _, w := range words {
		name, value, label := strings.Cut(w, "=")
		switch {
		case isStatus(w) && f.Status == "":
			f.Status = fold.Status(w)
		case label:
			f.Labels[name] = value
		default:
			pieces = append(pieces, w)
		}
	}
	return pieces
}

func fits(s loom.Summary, pieces []string) bool {
	for _, p := range pieces {
		if !strings.Contains(s.ID, p) && !strings.Contains(s.Flow, p) {
			return false
		}
	}
	return true
}

// column is a column of a list as text.
type column struct {
	name string
	cell func(s *screen.Screen, x loom.Summary, now time.Time) string
}

var listColumns = []column{
	{"id", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return x.ID }},
	{"flow", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return x.Flow }},
	{"status", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return statusWord(x) }},
	{"events", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return fmt.Sprint(x.Events) }},
	{"mail", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return fmt.Sprint(x.Mail) }},
	{"strikes", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return fmt.Sprint(x.Strikes) }},
	{"owner", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return dash(x.Owner) }},
	{"wake", func(s *screen.Screen, x loom.Summary, now time.Time) string { return wakeText(s, view.Wake(x), now) }},
	{"created", func(s *screen.Screen, x loom.Summary, now time.Time) string { return s.Time(x.Created, now) }},
	{"updated", func(s *screen.Screen, x loom.Summary, now time.Time) string { return s.Time(x.Updated, now) }},
	{"labels", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return dash(labelsText(x.Labels)) }},
	{"shows", func(_ *screen.Screen, x loom.Summary, _ time.Time) string { return dash(labelsText(x.Published)) }},
}

func columnNames() (names []string) {
	for _, c := range listColumns {
		names = append(names, c.name)
	}
	return names
}

// checkColumns returns the columns to show.
func checkColumns(asked []string) ([]string, error) {
	if len(asked) == 0 {
		return []string{"id", "flow", "status", "events", "created", "updated"}, nil
	}
	for _, name := range asked {
		if !slices.Contains(columnNames(), name) {
			return nil, fault.New(fault.Usage, "invalid_flag", fmt.Sprintf("there is no column %q; there are %s", name, strings.Join(columnNames(), ", ")), "loom ls --help")
		}
	}
	return asked, nil
}

// statusWord is the status, or that no node takes the execution any more.
func statusWord(x loom.Summary) string {
	if view.Stuck(x) {
		return "stuck"
	}
	return string(x.Status)
}

func printList(s *screen.Screen, all []loom.Summary, columns []string, now time.Time) {
	if len(all) == 0 {
		fmt.Fprintln(s.Err, "loom: no execution fits")
		return
	}
	t := screen.Table{Head: columns}
	for _, x := range all {
		var row []string
		for _, name := range columns {
			i := slices.Index(columnNames(), name)
			row = append(row, s.Cell(listColumns[i].cell(s, x, now)))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Print(s)
}

func labelsText(labels map[string]string) string {
	var parts []string
	for name, value := range labels {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func dash(v string) string {
	if v == "" {
		return "-"
	}
	return v
}
