package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// key names a figure.
type key struct{ store, work, name string }

// figure is one number that was measured, once a run.
type figure struct {
	Store string    `json:"store"`
	Work  string    `json:"work"`
	Name  string    `json:"name"`
	Unit  string    `json:"unit"`
	Value float64   `json:"value"` // the median of Runs
	Runs  []float64 `json:"runs"`
}

// sheet holds figures in the order in which they first came. It is used by one
// goroutine.
type sheet struct {
	figures []*figure
	at      map[key]*figure
	wrong   []string // counts that are not what they must be
}

func newSheet() *sheet { return &sheet{at: map[key]*figure{}} }

// add notes what this run measured.
func (s *sheet) add(store, work, name, unit string, v float64) {
	k := key{store, work, name}
	f := s.at[k]
	if f == nil {
		f = &figure{Store: store, Work: work, Name: name, Unit: unit}
		s.at[k] = f
		s.figures = append(s.figures, f)
	}
	f.Runs = append(f.Runs, v)
	f.Value = median(f.Runs)
}

// last returns what the latest run measured; ok is false if none did.
func (s *sheet) last(k key) (v float64, ok bool) {
	f := s.at[k]
	if f == nil {
		return 0, false
	}
	return f.Runs[len(f.Runs)-1], true
}

// value returns a figure's median; ok is false if it was not measured.
func (s *sheet) value(k key) (v float64, ok bool) {
	f := s.at[k]
	if f == nil {
		return 0, false
	}
	return f.Value, true
}

// wrongly notes a count that is not what it must be.
func (s *sheet) wrongly(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// median returns the middle of vs, which it does not change; NaN of none.
func median(vs []float64) float64 {
	if len(vs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(vs))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// percentile returns the least of ds that p in a hundred do not exceed; it sorts ds.
func percentile(ds []time.Duration, p float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	i := int(math.Ceil(p/100*float64(len(ds)))) - 1
	return ds[max(i, 0)]
}

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
