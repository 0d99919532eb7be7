package main

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"time"
)

// report is what a bench has to say.
type report struct {
	cfg   *config
	sheet *sheet

	LoadBefore string
	LoadAfter  string
	Took       time.Duration
	Goals      []goal
	Wrong      []string
	NoPeers    map[string]string // why a peer was not measured, by name
}

// finish compares what was measured with the goals.
func (r *report) finish(took time.Duration) {
	r.LoadAfter, r.Took = load(), took
	r.Goals = goals(r.sheet)
	r.Wrong = r.sheet.wrong
}

// MarshalJSON gives the report its stable form.
func (r *report) MarshalJSON() ([]byte, error) {
	var stores []string
	for _, k := range r.cfg.stores {
		stores = append(stores, k.name)
	}
	return json.Marshal(map[string]any{
		"schema":     "loom.bench/1",
		"go":         runtime.Version(),
		"cpus":       runtime.NumCPU(),
		"loadBefore": r.LoadBefore,
		"loadAfter":  r.LoadAfter,
		"seconds":    r.Took.Seconds(),
		"runs":       r.cfg.runs,
		"stores":     stores,
		"figures":    r.sheet.figures,
		"goals":      r.Goals,
		"wrong":      append([]string{}, r.Wrong...),
		"noPeers":    r.NoPeers,
	})
}

// load returns the machine's load averages, "unknown" where nothing tells.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
