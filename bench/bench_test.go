package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if isChild() { // this binary is what a workload spawns
		os.Exit(child(os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// tiny measures every workload at a size that takes no time.
func tiny(t *testing.T, stores ...*kind) *report {
	t.Helper()
	rep, err := measure(context.Background(), &config{runs: 2, stores: stores, dir: t.TempDir(), size: tinySizes()}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestEveryWorkloadRunsAndItsCountsAreRight(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			rep := tiny(t, k)
			for _, w := range rep.Wrong {
				t.Error(w)
			}
			n := tinySizes()
			for name, want := range map[key]float64{
				{k.name, "W4", "bodies"}:                       float64(n.ids),
				{k.name, "W4", "refusals"}:                     float64(n.starts - n.ids),
				{k.name, "W5", "early"}:                        0,
				{k.name, "W2", "rows"}:                         2 + 2/float64(steps(k, n)),
				{k.name, "W1, 2 in flight", "events recorded"}: 8,
				{k.name, "W1, 8 in flight", "commits"}:         4,
				{k.name, "W2", "commits beyond one a step"}:    1,
			} {
				if got, ok := rep.sheet.value(name); !ok || got != want {
					t.Errorf("%v is %v (measured: %t), want %v", name, got, ok, want)
				}
			}
			for _, w := range workloads {
				if w.name == "heap" && k.normal {
					continue // weighed with FULL
				}
				if !slices.ContainsFunc(rep.sheet.figures, func(f *figure) bool { return strings.HasPrefix(f.Work, w.name) }) {
					t.Errorf("workload %s left no figure", w.name)
				}
			}
		})
	}
}

func steps(k *kind, n sizes) int { return (&lab{kind: k, size: n}).more(n.steps) }

func TestReportHasItsFields(t *testing.T) {
	rep := tiny(t, kinds[0])
	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema, Go, LoadBefore, LoadAfter string
		CPUs, Runs                        int
		Seconds                           float64
		Stores                            []string
		Figures                           []figure
		Goals                             []goal
		Wrong                             []string
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "loom.bench/1" || got.Go == "" || got.LoadBefore == "" || got.LoadAfter == "" || got.CPUs < 1 ||
		got.Runs != 2 || got.Seconds <= 0 || !slices.Equal(got.Stores, []string{"memory"}) || got.Wrong == nil {
		t.Errorf("the head of the report is %s", text[:min(len(text), 300)])
	}
	for _, f := range got.Figures {
		if f.Store != "memory" || f.Work == "" || f.Name == "" || f.Unit == "" || math.IsNaN(f.Value) {
			t.Errorf("figure %+v", f)
		}
		if want := 2; len(f.Runs) != want && f.Work != "heap" {
			t.Errorf("%s, %s has %d runs, want %d", f.Work, f.Name, len(f.Runs), want)
		}
	}
	states := []string{met, stretchMet, notMet, notMeasured}
	for _, g := range got.Goals {
		if g.Work == "" || g.Text == "" || g.Unit == "" || !slices.Contains(states, g.State) {
			t.Errorf("goal %+v", g)
		}
	}
	var table bytes.Buffer
	if err := rep.print(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"raw", "W1, 2 in flight", "W5", "goals"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table has no %q", want)
		}
	}
}

func TestFlagsThatCannotWorkAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-stores", "tape"}, {"-only", "W9"}, {"-runs", "0"}, {"now"}} {
		var errs bytes.Buffer
		if code := run(context.Background(), args, &bytes.Buffer{}, &errs); code != 2 || errs.Len() == 0 {
			t.Errorf("bench %q: code %d, %q", args, code, errs.String())
		}
	}
}

func TestGoalsAreJudgedOnBothSides(t *testing.T) {
	least := goal{Bar: 10, Stretch: 20, Least: true}
	most := goal{Bar: 10, Stretch: 5}
	for _, c := range []struct {
		g     goal
		v     float64
		state string
		ratio float64
	}{
		{least, 5, notMet, 0.5}, {least, 10, met, 1}, {least, 20, stretchMet, 2},
		{most, 20, notMet, 0.5}, {most, 10, met, 1}, {most, 5, stretchMet, 2},
		{goal{}, 0, met, 0}, {goal{}, 1, notMet, 0},
	} {
		if got := c.g.judge(c.v, true); got.State != c.state || got.Ratio != c.ratio {
			t.Errorf("%+v of %v: %s, ratio %v", c.g, c.v, got.State, got.Ratio)
		}
	}
	if got := least.judge(0, false); got.State != notMeasured {
		t.Error(got)
	}
}

func TestPercentiles(t *testing.T) {
	ds := []time.Duration{5, 1, 4, 2, 3}
	if percentile(ds, 50) != 3 || percentile(ds, 99) != 5 || percentile(ds, 100) != 5 || percentile(nil, 50) != 0 {
		t.Error("of five", percentile(ds, 50), percentile(ds, 99))
	}
	if median([]float64{3, 1, 2}) != 2 || median([]float64{4, 1}) != 2.5 {
		t.Error("median")
	}
	for v, want := range map[float64]string{1234567: "1,234,567", 3: "3", 12.34: "12.3", 1.5: "1.50", 0.0123: "0.012", -1500: "-1,500"} {
		if got := number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}
