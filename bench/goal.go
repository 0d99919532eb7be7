package main

import "fmt"

// goal compares a figure with a bar.
type goal struct {
	Work  string `json:"work"`
	Store string `json:"store"`
	Text  string `json:"text"`
	// Value and Bar are in Unit. Least says that Value must be at least Bar, else at
	// most.
	Value   float64 `json:"value"`
	Bar     float64 `json:"bar"`
	Stretch float64 `json:"stretch"` // a second bar, 0 for none
	Unit    string  `json:"unit"`
	Least   bool    `json:"least"`
	// Ratio is how far Value is on the good side of Bar: 1 is just met.
	Ratio float64 `json:"ratio"`
	// State is met, stretch (met as well), not met, or not measured.
	State string `json:"state"`
}

// States of a goal.
const (
	met         = "met"
	stretchMet  = "stretch"
	notMet      = "not met"
	notMeasured = "not measured"
)

// judge compares v with the bars; ok is false if there is no v.
func (g goal) judge(v float64, ok bool) goal {
	reaches := func(bar float64) bool { return g.Least && v >= bar || !g.Least && v <= bar }
	g.Value = v
	switch {
	case !ok:
		g.State = notMeasured
		return g
	case g.Stretch != 0 && reaches(g.Stretch):
		g.State = stretchMet
	case reaches(g.Bar):
		g.State = met
	default:
		g.State = notMet
	}
	good, bad := g.Bar, v
	if g.Least {
		good, bad = v, g.Bar
	}
	if bad > 0 {
		g.Ratio = good / bad
	}
	return g
}

// goals returns the goals that this command can look at, judged by the medians in s. Not
// among them: whatever needs Postgres, other nodes, or decorators.
func goals(s *sheet) (all []goal) {
	add := func(g goal, name string) {
		v, ok := s.value(key{g.Store, g.Work, name})
		all = append(all, g.judge(v, ok))
	}
	// over is a goal for a figure of Loom over the same of a peer, or the other way
	// round if less is better. Its runs are not paired: the medians are compared.
	over := func(g goal, name, peer, peerWork, peerName string) {
		v, ok := s.value(key{g.Store, g.Work, name})
		p, known := s.value(key{peer, peerWork, peerName})
		if ok && known && v > 0 && p > 0 {
			if f := s.at[key{g.Store, g.Work, name}]; f.Unit == "ms" || f.Unit == "s" || f.Unit == "bytes/execution" {
				v, p = p, v
			}
			all = append(all, g.judge(v/p, true))
			return
		}
		all = append(all, g.judge(0, false))
	}
	const w1 = "W1, 64 in flight"
	add(goal{Work: w1, Store: "memory", Text: "executions/s", Bar: 50_000, Stretch: 100_000, Unit: "executions/s", Least: true}, "executions")
	over(goal{Work: w1, Store: "sqlite-full", Text: "executions/s, of DBOS (SQLite NORMAL)", Bar: 6, Stretch: 10, Unit: "×", Least: true}, "executions", "dbos", w1, "executions")
	over(goal{Work: w1, Store: "sqlite-full", Text: "executions/s, of go-workflows (SQLite)", Bar: 60, Unit: "×", Least: true}, "executions", "go-workflows", w1, "executions")
	for _, k := range kinds {
		add(goal{Work: w1, Store: k.name, Text: "allocated an execution", Bar: 16 << 10, Stretch: 8 << 10, Unit: "bytes"}, "allocated bytes")
	}
	add(goal{Work: "W2", Store: "sqlite-full", Text: "steps/s, of one-row commits/s", Bar: 0.7, Stretch: 0.9, Unit: "×", Least: true}, "steps to raw one-row commits")
	over(goal{Work: "W2", Store: "sqlite-normal", Text: "steps/s, of DBOS (SQLite NORMAL)", Bar: 2.5, Unit: "×", Least: true}, "steps", "dbos", "W2", "steps")
	for _, k := range kinds {
		add(goal{Work: "W2", Store: k.name, Text: "read-only steps/s", Bar: 200_000, Stretch: 500_000, Unit: "steps/s", Least: true}, "read-only steps")
	}
	for _, k := range kinds {
		add(goal{Work: "W2", Store: k.name, Text: "commits beyond one a step", Bar: 2, Unit: "commits"}, "commits beyond one a step")
	}
	over(goal{Work: "W3", Store: "sqlite-normal", Text: "resume, times faster than DBOS", Bar: 10, Unit: "×", Least: true}, "open to live step", "dbos", "W3", "open to live step")
	for _, k := range kinds[1:] {
		add(goal{Work: "W3", Store: k.name, Text: "open to live step (stretch goal)", Bar: 20, Unit: "ms"}, "open to live step")
	}
	for _, peer := range []string{"dbos", "go-workflows"} {
		over(goal{Work: "W4", Store: "sqlite-full", Text: fmt.Sprintf("times faster than %s", peer), Bar: 20, Unit: "×", Least: true}, "time", peer, "W4", "time")
	}
	for _, k := range kinds {
		add(goal{Work: "W5", Store: k.name, Text: "late, p99", Bar: 60, Stretch: 30, Unit: "ms"}, "late, p99")
		add(goal{Work: "W5", Store: k.name, Text: "woken early", Bar: 0, Unit: "executions"}, "early")
	}
	for _, k := range kinds {
		add(goal{Work: "signal", Store: k.name, Text: "to woken body, p50, beyond one commit", Bar: 1, Unit: "ms"}, "p50 beyond one commit")
	}
	for _, k := range kinds[:2] {
		for _, name := range []string{"let go", "sleeping in memory"} {
			add(goal{Work: "heap", Store: k.name, Text: "an execution, " + name, Bar: 1 << 10, Stretch: 256, Unit: "bytes"}, name)
		}
	}
	over(goal{Work: w1, Store: "sqlite-full", Text: "DBOS's stored bytes, of Loom's", Bar: 1 / 0.6, Unit: "×", Least: true}, "stored bytes", "dbos", w1, "stored bytes")
	return all
}
