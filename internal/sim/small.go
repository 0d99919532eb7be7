package sim

import "time"

// drawSmall draws the configuration of a small story, for who runs very many: two nodes,
// two executions and six acts at most, and all the faults there are.
func drawSmall(w *World) Config {
	c := Draw(w)
	c.Nodes = min(c.Nodes, 2)
	c.Executions = min(c.Executions, 2)
	c.Acts = 1 + w.Decide("few acts", 6)
	c.Lease = 60 * time.Millisecond
	return c
}
