package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// print writes the report for people.
func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d processors, load %s before, %s after; medians of %d runs, %s in all\n",
		runtime.Version(), runtime.NumCPU(), r.LoadBefore, r.LoadAfter, r.cfg.runs, r.Took.Round(time.Second))
	columns, rows := r.sheet.pivot()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	work := ""
	for _, row := range rows {
		if row.work != work {
			work = row.work
			fmt.Fprintf(t, "\n%s\t\t%s\t\n", work, strings.Join(columns, "\t"))
		}
		fmt.Fprintf(t, "%s\t%s\t", row.name, row.unit)
		for _, v := range row.values {
			fmt.Fprintf(t, "%s\t", number(v))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.printGoals(w)
}

func (r *report) printGoals(w io.Writer) error {
	fmt.Fprintln(w, "\ngoals")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	unmeasured := 0
	for _, g := range r.Goals {
		if g.State == notMeasured {
			unmeasured++
			continue
		}
		bound := "≤"
		if g.Least {
			bound = "≥"
		}
		ratio := "–"
		if g.Ratio > 0 {
			ratio = strconv.FormatFloat(g.Ratio, 'f', 2, 64) + " × the bar"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s %s %s, is %s\t%s\t\n", g.State, g.Work, g.Store, g.Text, bound, number(g.Bar), g.Unit, number(g.Value), ratio)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, name := range []string{"dbos", "go-workflows"} {
		if why, ok := r.NoPeers[name]; ok {
			fmt.Fprintf(w, "%s was not measured: %s\n", name, why)
		}
	}
	if unmeasured > 0 {
		fmt.Fprintf(w, "%d goals not measured in this run", unmeasured)
		if r.cfg.peers == "" {
			fmt.Fprint(w, "; those beside other engines need -peers")
		}
		fmt.Fprintln(w)
	}
	return nil
}

// row is one figure over all stores; NaN where a store has none.
type row struct {
	work, name, unit string
	values           []float64
}

// pivot returns the figures with one column a store.
func (s *sheet) pivot() (columns []string, rows []row) {
	for _, f := range s.figures {
		if !slices.Contains(columns, f.Store) {
			columns = append(columns, f.Store)
		}
	}
	var works []string
	for _, f := range s.figures {
		if !slices.Contains(works, f.Work) {
			works = append(works, f.Work)
		}
	}
	for _, work := range works {
		first := len(rows)
		for _, f := range s.figures {
			if f.Work != work {
				continue
			}
			at := slices.IndexFunc(rows[first:], func(r row) bool { return r.name == f.Name })
			if at < 0 {
				at = len(rows) - first
				r := row{work: work, name: f.Name, unit: f.Unit, values: make([]float64, len(columns))}
				for i := range r.values {
					r.values[i] = math.NaN()
				}
				rows = append(rows, r)
			}
			rows[first+at].values[slices.Index(columns, f.Store)] = f.Value
		}
	}
	return columns, rows
}

// number writes v with three digits that count, "–" for NaN.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "–"
	case v == math.Trunc(v) && a < 1000, a >= 100:
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// grouped puts commas between thousands.
func grouped(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
