package loom

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/loomwork/loom/store"
)

// Option configures [Open]: [Flows], [Hooks], [Tuning], [WithLogger].
type Option interface{ apply(*Runtime) error }

type option func(*Runtime) error

func (o option) apply(r *Runtime) error { return o(r) }

// Flows registers the flows whose executions this runtime drives. Several versions of one
// flow (see [FlowVersion]) may be there side by side. Two flows of one name and version
// are an error of [Open].
func Flows(flows ...AnyFlow) Option {
	return option(func(r *Runtime) error {
		for _, f := range flows {
			known := store.FlowVersion{Flow: f.Name(), Version: f.Version()}
			if _, twice := r.flows[known]; twice {
				return fmt.Errorf("loom: two flows are called %q", known)
			}
			r.flows[known] = f
			r.known = append(r.known, known)
			r.names = append(r.names, known.String())
		}
		return nil
	})
}

// WithLogger sends what the runtime and [Logger] have to say to l. The default is
// silence.
func WithLogger(l *slog.Logger) Option {
	return option(func(r *Runtime) error { r.log = l; return nil })
}

// Tuning holds the figures of a runtime. A zero field stands for the default.
type Tuning struct {
	// Lease is how long this node may be silent before others may take over what
	// it drives; 15 s. It is renewed at a third, and the node starts no effect once
	// half of it passed without a renewal.
	Lease time.Duration
	// Unload is how long a body may wait before it is let out of memory; 10 s.
	Unload time.Duration
	// CancelGrace is how long a cancelled effect may take to settle before its
	// outcome is recorded as unknown; 30 s.
	CancelGrace time.Duration
	// CloseGrace is how long [Runtime.Close] waits for effects to return; 30 s.
	CloseGrace time.Duration
	// Scan is the longest time between two looks for executions to drive; 1 s.
	Scan time.Duration
	// MaxPayload is the largest input, result, argument or message, in bytes; 4 MiB.
	MaxPayload int
	// ClientOnly keeps the runtime from driving anything: it starts for others,
	// signals, reads. Starts are written down for a node that has the flow.
	ClientOnly bool
}

func (t Tuning) apply(r *Runtime) error { r.tune = t; return nil }

// minTick is the shortest lease and scan: a node must find the time to renew and look.
const minTick = time.Millisecond

// validate fills in defaults and refuses what cannot work.
func (t *Tuning) validate() error {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&t.Lease, 15*time.Second)
	def(&t.Unload, 10*time.Second)
	def(&t.CancelGrace, 30*time.Second)
	def(&t.CloseGrace, 30*time.Second)
	def(&t.Scan, time.Second)
	if t.MaxPayload == 0 {
		t.MaxPayload = 4 << 20
	}
	if t.Lease > 0 && t.Lease < minTick || t.Scan > 0 && t.Scan < minTick {
		return fmt.Errorf("loom: Tuning.Lease and Tuning.Scan must be %v or more", minTick)
	}
	for _, d := range []time.Duration{t.Lease, t.Unload, t.CancelGrace, t.CloseGrace, t.Scan} {
		if d < 0 {
			return fmt.Errorf("loom: Tuning holds a negative duration, %v", d)
		}
	}
	if t.MaxPayload < 0 {
		return fmt.Errorf("loom: Tuning.MaxPayload is %d", t.MaxPayload)
	}
	return nil
}
