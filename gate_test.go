package loom_test

import (
	"sync"
	"testing"
)

// shutGate returns a gate that is shut, until the test ends at the latest.
func shutGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{}
	g.close()
	t.Cleanup(g.open)
	return g
}

// gate blocks who passes while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil while open
	held int
}

// close makes the next ones wait.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

// open lets everybody through.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// pass waits until the gate is open.
func (g *gate) pass() {
	g.mu.Lock()
	shut := g.shut
	if shut != nil {
		g.held++
	}
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
}

// waiting returns how many came to the shut gate.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// commitGate holds back the commits of an execution ("" for all) while g is shut.
func (x *tap) commitGate(g *gate, id string) {
	x.on(func(c call) {
		if c.op == "commit" && (id == "" || string(c.id) == id) {
			g.pass()
		}
	})
}
