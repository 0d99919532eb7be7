package sim

import (
	"os"
	"testing"
)

// TestSimNodesWithoutTheFlow: claim H-02, nodes whose build does not know a flow take
// nothing over, in 2,000 seeds, however long its node is dead: two of them are alone
// with what a crash left for six leases.
func TestSimNodesWithoutTheFlow(t *testing.T) {
	seeds, left := 2_000, 0
	if os.Getenv("LOOM_EXPLORE_BOUND") != "" {
		seeds = 10_000
	}
	for seed := range uint64(seeds) {
		w := New(seed+1, nil)
		db, _, _ := inMemory(w)
		c := NewCluster(w, db, plain)
		err := w.Run(func() {
			driver := c.open(1)[0]
			for range 2 {
				m := c.Join(false)
				m.bare = true
				c.await("a runtime to open", m.Up)
			}
			driver.Node.AtPoint(driver.Node.Points()+1+int64(w.Decide("crash in", 40)), driver.Node.Crash)
			c.Start(driver, raced, c.writer.program(), 0)
			c.Start(driver, "x1", flowOf(effect("pay", c.Config.Lease)), 0)
			w.outside.Sleep(c.some(c.Config.Lease))
			driver.Node.Crash()
			from := c.History.Pos()
			w.outside.Sleep(6 * c.Config.Lease)
			for _, h := range c.heads() {
				if !h.State.Terminal() {
					left++
				}
			}
			for i := range c.History.Records[from:] {
				r := &c.History.Records[from+i]
				c.must(r.Did != DidCommit, "%s, which does not know the flow, sent %+v", r.Node, r.Request)
			}
			for _, m := range c.Members {
				m.Node.Crash()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if left < seeds {
		t.Errorf("%d executions were left in %d seeds", left, seeds)
	}
	t.Logf("%d executions were left by the dead", left)
	t.Logf("tally: seeds=%d", seeds)
}
