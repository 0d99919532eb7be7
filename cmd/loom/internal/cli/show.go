package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom/cmd/loom/internal/screen"
	"github.com/loomwork/loom/cmd/loom/internal/view"
	"github.com/spf13/cobra"
)

func (a *app) show() *cobra.Command {
	var steps int
	c := &cobra.Command{
		Use:   "show ID",
		Short: "show one execution: status, operations, result",
		Long: `show prints what the fold of an execution's log says: its status, input and result,
and its newest operations.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			id, err := o.resolve(ctx, args[0])
			if err != nil {
				return err
			}
			sum, err := o.rt.Summary(ctx, id)
			if err != nil {
				return err
			}
			state, err := o.rt.State(ctx, id)
			if err != nil {
				return err
			}
			x := view.ExecutionOf(sum, state, steps)
			if a.flags.json {
				return a.screen.Emit("execution", x)
			}
			p := printer{a.screen, a.now()}
			p.execution(x, view.Took(state))
			return nil
		}),
	}
	c.Flags().IntVar(&steps, "steps", 20, "at most so many operations, the newest; -1 for all")
	return c
}

// printer prints executions as text.
type printer struct {
	*screen.Screen
	now time.Time
}

// row prints a value, whose further lines stay in its column: none can look like a
// row of its own.
func (p printer) row(what, value string) {
	p.Printf("%-10s %s\n", what, strings.ReplaceAll(value, "\n", "\n           "))
}

// instant prints a time of a view.
func (p printer) instant(v *string) string {
	if v == nil {
		return "-"
	}
	t, err := time.Parse(time.RFC3339, *v)
	if err != nil {
		return *v
	}
	return p.Time(t, p.now)
}

// wake prints when a parked execution is due.
func (p printer) wake(v string) string {
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return v
	}
	return wakeText(p.Screen, t, p.now)
}

func wakeText(s *screen.Screen, t, now time.Time) string {
	if !t.IsZero() && !t.After(now) {
		return "due now"
	}
	return s.Time(t, now)
}

func (p printer) execution(x view.Execution, took time.Duration) {
	p.row("execution", x.ID)
	p.row("flow", p.Text(strings.TrimSpace(x.Flow+" "+x.Version)))
	status := p.Status(x.Status)
	if x.Stuck {
		status += fmt.Sprintf(", %s: it lost its owner %d times without progress, and no node takes it; see loom recover", p.Status("stuck"), x.Strikes)
	}
	if x.Unknown {
		status += ", unknown: no node that lives has its flow in this version"
	}
	p.row("status", status)
	p.row("started", p.instant(x.Started))
	p.row("updated", p.instant(x.Updated))
	p.row("duration", screen.Span(took))
	p.row("events", count(x.Events))
	if x.Parent != "" {
		p.row("parent", x.Parent)
	}
	if x.Owner != "" {
		p.row("owner", x.Owner)
	}
	if x.WakeAt != nil && !x.Stuck {
		p.row("wakes", p.wake(*x.WakeAt))
	}
	if x.Deadline != nil {
		p.row("deadline", p.instant(x.Deadline))
	}
	if x.Mail > 0 {
		p.row("mail", fmt.Sprintf("%d messages that nobody has looked at", x.Mail))
	}
	if len(x.Labels) > 0 {
		p.row("labels", p.Cell(labelsText(x.Labels)))
	}
	for _, key := range slices.Sorted(maps.Keys(x.Published)) {
		p.row("shows", p.Text(key+"="+x.Published[key]))
	}
	if x.Paused != nil {
		p.row("paused", p.Text(fmt.Sprintf("until it is resumed: %s", dash(x.Paused.Reason))))
	}
	if x.Cancel != nil {
		p.row("cancelled", p.Text(fmt.Sprintf("asked to give way (%s) %s", x.Cancel.Cause, x.Cancel.Reason)))
	}
	p.value("input", x.Input)
	p.value("result", x.Result)
	if f := x.Failure; f != nil {
		p.row("error", p.Text(reason(f.Code, f.Message)))
		for _, line := range f.Stack {
			p.row("", p.Text(line))
		}
	}
	c := x.Counts
	p.row("operations", fmt.Sprintf("%s effects, %s timers, %s awaits; %s open, %s failed, %s failed attempts", count(int64(c.Effects)),
		count(int64(c.Timers)), count(int64(c.Awaits)), count(int64(c.Open)), count(int64(c.Failed)), count(int64(c.Attempts))))
	p.operations(x)
}

func (p printer) operations(x view.Execution) {
	if len(x.Operations) == 0 {
		return
	}
	p.Printf("\n")
	if x.Earlier > 0 {
		p.Printf("… %s earlier; --steps -1 shows all\n", count(int64(x.Earlier)))
	}
	t := screen.Table{Head: []string{"seq", "operation", "kind", "status", "began", "took", "note"}}
	for _, o := range x.Operations {
		took, note := "-", ""
		if o.DurationMS != nil {
			took = screen.Span(time.Duration(*o.DurationMS * float64(time.Millisecond)))
		}
		if o.Message != "" {
			note = "message " + o.Message + " "
		}
		if o.Attempts > 0 {
			note += fmt.Sprintf("%d failed attempts ", o.Attempts)
		}
		if o.Due != nil {
			note += "due " + p.instant(o.Due) + " "
		}
		note += o.Error
		t.Rows = append(t.Rows, []string{fmt.Sprint(o.Sequence), o.Path, o.Kind, o.Status, p.instant(o.Began), took, dash(p.Cell(note))})
	}
	t.Print(p.Screen)
}

// previewBytes is how much of a payload a person is shown.
const previewBytes = 2 << 10

// value prints a payload, cut.
func (p printer) value(what string, raw json.RawMessage) {
	if raw == nil {
		return
	}
	p.row(what, p.preview(raw, previewBytes))
}

// preview returns a payload on one line.
func (p printer) preview(raw []byte, most int) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		b.Reset()
		b.Write(raw)
	}
	text, cut := b.String(), ""
	if len(text) > most {
		cut = fmt.Sprintf(" … (%s; --json has all)", bytesText(int64(len(text))))
		text = text[:most]
	}
	return p.Cell(text) + cut
}
