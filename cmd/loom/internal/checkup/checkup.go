// Package checkup is what "loom doctor" looks at, one line a finding, each with what to
// do about it.
package checkup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/repair"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

// Verdict says how much a finding matters.
type Verdict string

// Verdicts.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn" // works, and somebody should know
	Fail Verdict = "fail" // a promise does not hold
)

// Finding is one line.
type Finding struct {
	Check   string  `json:"check"` // stable
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	Fix     string  `json:"fix,omitempty"`
}

// Checkup gathers findings.
type Checkup struct{ Findings []Finding }

// Note adds a finding.
func (c *Checkup) Note(check string, v Verdict, fix, format string, args ...any) {
	f := Finding{Check: check, Verdict: v, Detail: fmt.Sprintf(format, args...), Fix: fix}
	if v == OK {
		f.Fix = ""
	}
	c.Findings = append(c.Findings, f)
}

// Failed is how many findings fail.
func (c *Checkup) Failed() (n int) {
	for _, f := range c.Findings {
		if f.Verdict == Fail {
			n++
		}
	}
	return n
}

// late is how long something may be due before doctor says so.
const late = 30 * time.Second

// Store looks at an open store.
func (c *Checkup) Store(ctx context.Context, st store.Store, db *sqlite.DB, now time.Time) {
	c.file(ctx, db)
	c.level(ctx, st)
	c.clock(ctx, st, now)
	c.executions(ctx, st)
}

// file takes over what the backend says of itself.
func (c *Checkup) file(ctx context.Context, db *sqlite.DB) {
	for _, f := range db.Diagnose(ctx) {
		v, fix := OK, ""
		switch f.Gravity {
		case sqlite.Warn:
			v, fix = Warn, fixes[f.Check]
		case sqlite.Wrong:
			v, fix = Fail, fixes[f.Check]
		}
		c.Note(f.Check, v, fix, "%s", f.Detail)
	}
}

// fixes of what the backend finds.
var fixes = map[string]string{
	"engine":       "build with a newer release of the SQLite library",
	"journal_mode": "close every program that uses the file, and open it with Loom again",
	"synchronous":  "open the file without MayLoseLastCommits",
	"integrity":    "stop all workers, keep a copy, and restore the last backup",
	"schema":       "open the file with the newest release once",
	"incarnations": "open the file with the newest release once",
	"heads":        "stop all workers, keep a copy, and restore the last backup",
	"nodes":        "loom recover",
	"locks":        "rely on leases: a killed worker is replaced when its lease ends",
	"disk":         "free some space: a full disk stops all executions",
	"wal":          "end the program that reads the file without pause",
	"mode":         "chmod 600 the file: payloads may be secret",
}

func (c *Checkup) level(ctx context.Context, st store.Store) {
	if st.About == nil {
		c.Note("level", Warn, "use a backend that says its level", "the store does not say which SPI level it has")
		return
	}
	level, err := st.About.Level(ctx)
	switch {
	case err != nil:
		c.Note("level", Fail, "loom doctor, once the store answers", "%v", err)
	case level != store.Level23:
		c.Note("level", Warn, "open the store with the newest release once", "the store has SPI level %s, this program knows %s", level, store.Level23)
	default:
		c.Note("level", OK, "", "SPI level %s", level)
	}
}

func (c *Checkup) clock(ctx context.Context, st store.Store, now time.Time) {
	// A demand for nothing is answered with the store's clock.
	began := time.Now()
	_, _, at, err := st.Index.Runnable(ctx, store.Demand{Limit: 1})
	if err != nil {
		c.Note("clock", Fail, "loom doctor, once the store answers", "%v", err)
		return
	}
	skew := at.Time().Sub(now.Add(time.Since(began)))
	if skew.Abs() > 2*time.Second {
		c.Note("clock", Warn, "set this machine's clock", "the store's clock is %s off this machine's", skew.Round(time.Millisecond))
		return
	}
	c.Note("clock", OK, "", "the store's clock and this machine's agree")
}

// executions looks for what nobody goes on with.
func (c *Checkup) executions(ctx context.Context, st store.Store) {
	w, err := repair.Open(ctx, st)
	if err != nil {
		c.Note("executions", Fail, "loom doctor, once the store answers", "%v", err)
		return
	}
	cases, err := w.Cases(ctx)
	if err != nil {
		c.Note("executions", Fail, "loom doctor, once the store answers", "%v", err)
		return
	}
	abandoned, stuck := 0, 0
	for _, x := range cases {
		if x.Why == repair.Stuck {
			stuck++
		} else {
			abandoned++
		}
	}
	count := func(check string, n int, fix, format string) {
		v := OK
		if n > 0 {
			v = Warn
		}
		c.Note(check, v, fix, format, n)
	}
	count("abandoned", abandoned, "start a worker that knows their flows, or: loom recover", "%d executions have a dead owner")
	count("stuck", stuck, "loom recover, then loom recover ID", "%d executions lost their owner too often without progress")
	overdue, err := due(ctx, st)
	if err != nil {
		c.Note("overdue", Fail, "loom doctor, once the store answers", "%v", err)
		return
	}
	c.unknown(ctx, st)
	count("overdue", overdue, "start a worker that knows their flows: loom ls running", "%d executions are due and no node takes them")
}

// unknown looks for executions whose flow, in their version, no node has that lives. If
// none lives at all that is no finding: then nothing is meant to run.
func (c *Checkup) unknown(ctx context.Context, st store.Store) {
	rt, err := loom.Open(ctx, store.Opened(st), loom.Tuning{ClientOnly: true})
	if err != nil {
		c.Note("unknown", Fail, "loom doctor, once the store answers", "%v", err)
		return
	}
	defer rt.Close()
	nodes, err := st.Leaser.Nodes(ctx)
	workers := 0
	for _, n := range nodes {
		if n.Alive && len(n.Flows) > 0 {
			workers++
		}
	}
	needs, n := map[string]int{}, 0
	if err == nil {
		for s, e := range rt.List(ctx, loom.Filter{Status: fold.Running}) {
			if err = e; err != nil {
				break
			}
			if s.Unknown {
				n++
				needs[store.FlowVersion{Flow: s.Flow, Version: s.Version}.String()]++
			}
		}
	}
	switch {
	case err != nil:
		c.Note("unknown", Fail, "loom doctor, once the store answers", "%v", err)
	case workers == 0:
		c.Note("unknown", OK, "", "no worker is running")
	case n == 0:
		c.Note("unknown", OK, "", "%d workers have the flows and versions of all executions", workers)
	default:
		var parts []string
		for _, f := range slices.Sorted(maps.Keys(needs)) {
			parts = append(parts, fmt.Sprintf("%s (%d)", f, needs[f]))
		}
		c.Note("unknown", Warn, "start a worker that has these flows in these versions",
			"%d executions need what none of %d workers has: %s", n, workers, strings.Join(parts, ", "))
	}
}

// due counts the parked executions whose wake-up passed a while ago.
func due(ctx context.Context, st store.Store) (n int, err error) {
	_, _, now, err := st.Index.Runnable(ctx, store.Demand{Limit: 1})
	if err != nil {
		return 0, err
	}
	q := store.Query{States: []store.State{store.StateRunning}, Limit: 1000}
	for {
		heads, next, err := st.Index.List(ctx, q)
		if err != nil {
			return 0, err
		}
		for _, h := range heads {
			if h.Owner == "" && h.Strikes < store.MaxStrikes && h.WakeAt != event.Never && now.Sub(h.WakeAt) > late && now.Sub(h.Updated) > late {
				n++
			}
		}
		if next == "" {
			return n, nil
		}
		q.After = next
	}
}

// Zones looks for the time-zone database.
func (c *Checkup) Zones() {
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		c.Note("zones", Warn, "install tzdata, or set ZONEINFO", "there is no time-zone database: %v", err)
		return
	}
	c.Note("zones", OK, "", "the time-zone database is there")
}
