package screen

import (
	"fmt"
	"strconv"
	"time"
)

// Times is how instants are printed.
type Times string

// Forms of an instant.
const (
	ISO      Times = "iso"      // RFC 3339 in UTC
	Relative Times = "relative" // "3m ago"
	Unix     Times = "unix"     // seconds, with fraction
)

func timesOf(v string, terminal bool) (Times, error) {
	switch t := Times(v); {
	case v == "auto" && terminal:
		return Relative, nil
	case v == "auto":
		return ISO, nil
	case t == ISO, t == Relative, t == Unix:
		return t, nil
	}
	return ISO, fmt.Errorf("--time is %q; it can be auto, iso, relative or unix", v)
}

// RFC3339 is the form of instants in JSON: UTC, microseconds where there are some.
const RFC3339 = "2006-01-02T15:04:05.999999Z"

// Time returns t as the person wants it; "-" for the zero time.
func (s *Screen) Time(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	switch s.Times {
	case Relative:
		return relative(t, now)
	case Unix:
		us := t.UnixMicro()
		return fmt.Sprintf("%d.%06d", us/1e6, us%1e6)
	}
	return t.UTC().Format(RFC3339)
}

func relative(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 0:
		return "in " + Span(-d)
	case d < time.Second:
		return "now"
	}
	return Span(d) + " ago"
}

// Span returns a duration for people, two units at most.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}
