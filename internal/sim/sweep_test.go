package sim

import "testing"

// TestSimSweep breaks each golden flow at every await point, every write and every
// store call of the node that began it.
func TestSimSweep(t *testing.T) { SweepAll(t, inMemory, 20, 1) }
