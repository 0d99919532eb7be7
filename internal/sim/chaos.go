package sim

import (
	"context"
	"time"

	"github.com/loomwork/loom/store/fault"
)

func (c *Cluster) ctx() context.Context { return context.Background() }

// chaosAct is one thing that chaos does.
type chaosAct struct {
	name  string
	share int
	do    func()
}

// chaos acts on the cluster: triggers and faults, one after the other, with little
// pauses. Faults heal by themselves after a while; what is dead or closed is
// replaced.
func (c *Cluster) chaos() {
	w, n := c.World, c.Config.Nemesis
	acts := []chaosAct{
		{"start", 10, c.actStart}, {"mint", 3, c.actMint}, {"signal", 6, c.actSignal}, {"cancel", 1, c.actCancel}, {"result", 3, c.actResult}, {"follow", 2, c.actFollow},
		{"crash", n.Crash, c.actCrash}, {"pause", n.Pause, c.actPause}, {"suspend", n.Suspend, c.actSuspend}, {"freeze", n.Freeze, c.actFreeze},
		{"clock", n.Clock, c.actClock}, {"cut", n.Cut, c.actCut}, {"renewals", n.Renewals, c.actRenewals}, {"close", n.Close, c.actClose},
	}
	if c.Config.Family {
		acts = append(acts, chaosAct{"terminate", 1, c.actTerminate})
	}
	total := 0
	for _, a := range acts {
		total += a.share
	}
	for range c.Config.Acts {
		c.acts = append(c.acts, len(w.choices))
		x := w.Decide("act", total)
		for _, a := range acts {
			if x -= a.share; x < 0 {
				c.did[a.name]++
				a.do()
				break
			}
		}
		if w.Chance("breath", 700) {
			w.outside.Sleep(c.some(c.Config.Lease))
		}
		c.replace()
	}
}

// some draws a duration up to d.
func (c *Cluster) some(d time.Duration) time.Duration {
	return d * time.Duration(1+c.World.Decide("some", 16)) / 16
}

// any returns a member that can be used, nil if there is none.
func (c *Cluster) any() *Member {
	up := c.up()
	if len(up) == 0 {
		return nil
	}
	return up[c.World.Decide("member", len(up))]
}

// living returns a member whose node is alive, nil if there is none.
func (c *Cluster) living() *Member {
	var up []*Member
	for _, m := range c.Members {
		if !m.Node.dead && !m.closed {
			up = append(up, m)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[c.World.Decide("living", len(up))]
}

// replace brings a new node for each that is gone, sooner or later.
func (c *Cluster) replace() {
	drivers := 0
	for _, m := range c.Members {
		if !m.client && !m.bare && !m.Node.dead && !m.closing {
			drivers++
		}
	}
	for ; drivers < c.Config.Nodes; drivers++ {
		if c.World.Chance("replaced", 600) {
			c.Join(false)
		}
	}
}

func (c *Cluster) actCrash() {
	m := c.living()
	if m == nil {
		return
	}
	if c.World.Decide("crash", 3) == 0 {
		m.Node.Crash()
		return
	}
	m.Node.AtPoint(m.Node.Points()+1+int64(c.World.Decide("crash in", 60)), m.Node.Crash)
}

func (c *Cluster) actPause() {
	m := c.living()
	if m == nil || m.Node.paused {
		return
	}
	pause := func() {
		m.Node.Pause()
		c.World.outside.After(c.some(4*c.Config.Lease), m.Node.Resume)
	}
	if c.World.Decide("pause", 2) == 0 {
		pause()
		return
	}
	m.Node.AtPoint(m.Node.Points()+1+int64(c.World.Decide("pause in", 60)), pause)
}

// actSuspend is a machine that sleeps: its monotonic clock stands, its wall clock
// goes on.
func (c *Cluster) actSuspend() {
	m := c.living()
	if m == nil || m.Node.paused {
		return
	}
	m.Node.Pause()
	m.Node.mono.Freeze(true)
	c.World.outside.After(c.some(4*c.Config.Lease), func() {
		m.Node.mono.Freeze(false)
		m.Node.Resume()
	})
}

// actFreeze stops all of a node's clocks while it runs: outside of what is
// promised about effects, inside of what is promised about writes.
func (c *Cluster) actFreeze() {
	m := c.living()
	if m == nil {
		return
	}
	m.distrusted = true
	m.Node.mono.Freeze(true)
	m.Node.wall.Freeze(true)
	c.World.outside.After(c.some(3*c.Config.Lease), func() {
		m.Node.mono.Freeze(false)
		m.Node.wall.Freeze(false)
	})
}

// actClock sets a node's clocks wrong: the wall clock by hours, the monotonic one's
// rate by what a lease of twice the trust forgives. A fast one may be fast by what
// a disciplined clock may.
func (c *Cluster) actClock() {
	m := c.living()
	if m == nil {
		return
	}
	switch c.World.Decide("clock", 4) {
	case 0:
		m.Node.wall.Jump(2 * time.Hour)
	case 1:
		m.Node.wall.Jump(-2 * time.Hour)
	case 2:
		m.Node.mono.Drift(-int64(c.World.Decide("slow by", 400_000)))
	case 3:
		m.Node.mono.Drift(int64(c.World.Decide("fast by", 900)))
	}
}

func (c *Cluster) actCut() {
	m := c.living()
	if m == nil {
		return
	}
	m.Link.Faults.Down(true)
	c.World.outside.After(c.some(3*c.Config.Lease), func() { m.Link.Faults.Down(false) })
}

// actRenewals lets a node's lease lapse while it lives: its renewals fail, and
// everything else goes on.
func (c *Cluster) actRenewals() {
	m := c.living()
	if m == nil {
		return
	}
	m.Link.Faults.Plan(func(call *fault.Call) fault.Fault {
		if call.Op == fault.Renew {
			return fault.Fault{Act: fault.Fail}
		}
		return fault.Fault{}
	})
	c.World.outside.After(c.some(4*c.Config.Lease), func() { m.Link.Faults.Plan(nil) })
}

func (c *Cluster) actClose() {
	if m := c.any(); m != nil {
		m.Close()
	}
}
