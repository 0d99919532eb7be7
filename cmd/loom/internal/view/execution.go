package view

import (
	"encoding/json"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
)

// Row is one execution in a list.
type Row struct {
	ID      string            `json:"id"`
	Flow    string            `json:"flow"`
	Version string            `json:"version,omitempty"`
	Status  string            `json:"status"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Published is what the execution shows of itself, as text.
	Published map[string]string `json:"published,omitempty"`
	Events    int64             `json:"events"`
	Parent    string            `json:"parent,omitempty"`  // of a child
	Owner     string            `json:"owner,omitempty"`   // node that drives it
	Unknown   bool              `json:"unknown,omitempty"` // nodes live, and none of them has the flow in this version
	WakeAt    instant           `json:"wakeAt,omitempty"`  // when a parked one is due
	Mail      int64             `json:"mail"`              // messages that nobody looked at
	Strikes   int               `json:"strikes"`           // lost owners in a row, without progress
	Stuck     bool              `json:"stuck"`             // only an operator takes it
	Created   instant           `json:"created"`
	Updated   instant           `json:"updated"`
}

// RowOf returns the row of a summary.
func RowOf(s loom.Summary) Row {
	return Row{ID: s.ID, Flow: s.Flow, Version: s.Version, Status: string(s.Status), Labels: s.Labels, Published: s.Published, Events: s.Events,
		Parent: s.Parent, Owner: s.Owner, Unknown: s.Unknown, WakeAt: at(Wake(s)), Mail: s.Mail, Strikes: s.Strikes, Stuck: Stuck(s),
		Created: at(s.Created), Updated: at(s.Updated)}
}

// Wake returns when a parked execution is due, zero for one that is not parked or waits
// for a message alone. A store writes "at once" as the beginning of time; such a one has
// been due since it was changed last.
func Wake(s loom.Summary) time.Time {
	if !s.WakeAt.IsZero() && !s.WakeAt.After(event.Time(0).Time()) {
		return s.Updated
	}
	return s.WakeAt
}

// Stuck reports whether an execution lost its owner so often in a row that no node
// takes it any more.
func Stuck(s loom.Summary) bool { return !s.Status.Terminal() && s.Strikes >= store.MaxStrikes }

// Execution is one execution in full.
type Execution struct {
	Row
	Started    instant         `json:"started"`
	Deadline   instant         `json:"deadline,omitempty"`
	DurationMS float64         `json:"durationMs"` // from the first to the last event
	Input      json.RawMessage `json:"input,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Failure    *Failure        `json:"failure,omitempty"`
	Cancel     *Cancel         `json:"cancel,omitempty"`
	Paused     *Pause          `json:"paused,omitempty"`
	Counts     Counts          `json:"counts"`
	// Operations are the newest, in the order in which they began.
	Operations []Operation `json:"operations"`
	// Earlier is how many operations are left out before them.
	Earlier int `json:"earlier"`
}

// Failure is a recorded error.
type Failure struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Chain   []string `json:"chain,omitempty"`
	Stack   []string `json:"stack,omitempty"`
}

// FailureOf returns f for a view, nil for nil.
func FailureOf(f *event.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{Code: f.Code, Message: f.Message, Chain: f.Chain, Stack: f.Stack}
}

// Cancel is a request to give way.
type Cancel struct {
	Cause  string `json:"cause"`
	Reason string `json:"reason,omitempty"`
}

// Pause is why an execution is paused.
type Pause struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"` // node at which it was asked for
}

// Counts are of all operations.
type Counts struct {
	Effects  int `json:"effects"`
	Timers   int `json:"timers"`
	Awaits   int `json:"awaits"`
	Open     int `json:"open"`
	Failed   int `json:"failed"`
	Attempts int `json:"failedAttempts"`
}

// Operation is one operation of a body.
type Operation struct {
	Path       string   `json:"path"`
	Kind       string   `json:"kind"`
	Status     string   `json:"status"`
	Message    string   `json:"message,omitempty"` // name of the message that an await waits for
	Attempts   int      `json:"failedAttempts,omitempty"`
	ReadOnly   bool     `json:"readOnly,omitempty"`
	Sequence   int64    `json:"sequence"` // of the first event that names it
	Began      instant  `json:"began"`
	Settled    instant  `json:"settled,omitempty"`
	DurationMS *float64 `json:"durationMs,omitempty"` // once it is settled
	Due        instant  `json:"due,omitempty"`
	Error      string   `json:"error,omitempty"` // code
}

// ExecutionOf puts the head row and the fold of the log together, with at most limit
// operations (all, if limit is negative).
func ExecutionOf(sum loom.Summary, s *fold.State, limit int) Execution {
	x := Execution{Row: RowOf(sum), Started: atEvent(s.Started), Deadline: atEvent(s.Deadline), DurationMS: millis(Took(s)),
		Input: s.Input, Result: s.Result, Failure: FailureOf(s.Failure), Operations: []Operation{}}
	// The log was read after the row: where they differ it is newer.
	x.Published = published(s)
	x.Status, x.Events = string(s.Status), int64(s.Head)+1
	if s.Status.Terminal() {
		x.Owner, x.WakeAt, x.Stuck = "", nil, false
	}
	if s.Cancel != nil {
		x.Cancel = &Cancel{Cause: s.Cancel.Cause, Reason: s.Cancel.Reason}
	}
	if s.Paused != nil {
		x.Paused = &Pause{Reason: s.Paused.Reason, By: s.Paused.By}
	}
	for i := range s.Ops {
		x.Counts.add(&s.Ops[i])
	}
	ops := s.Ops
	if limit >= 0 && len(ops) > limit {
		x.Earlier = len(ops) - limit
		ops = ops[x.Earlier:]
	}
	for i := range ops {
		x.Operations = append(x.Operations, operationOf(&ops[i]))
	}
	return x
}

// published is what a log folds to, in the form of a row.
func published(s *fold.State) map[string]string {
	var texts map[string]string
	for key, value := range s.Published { // order does not matter: it goes into a map
		if texts == nil {
			texts = map[string]string{}
		}
		texts[key] = event.StateSet{Key: key, Value: value}.Text()
	}
	return texts
}

// Took is the time between the first and the last event.
func Took(s *fold.State) time.Duration { return s.Updated.Sub(s.Started) }

func (c *Counts) add(o *fold.Op) {
	switch o.Kind {
	case fold.Effect:
		c.Effects++
	case fold.Timer:
		c.Timers++
	case fold.Await:
		c.Awaits++
	}
	if o.Open() {
		c.Open++
	}
	if o.Status == fold.OpFailed {
		c.Failed++
	}
	c.Attempts += o.Attempts
}

func operationOf(o *fold.Op) Operation {
	v := Operation{Path: o.Path, Kind: string(o.Kind), Status: string(o.Status), Message: o.Name, Attempts: o.Attempts,
		ReadOnly: o.ReadOnly, Sequence: int64(o.First), Began: atEvent(o.Began), Settled: atEvent(o.Settled),
		Due: atEvent(o.Due), Error: o.Error}
	if o.Settled != 0 {
		d := millis(o.Settled.Sub(o.Began))
		v.DurationMS = &d
	}
	return v
}
