//go:build loomsabotage

package sabotage

import (
	"os"
	"sync/atomic"
)

// Built reports whether this build can be sabotaged.
const Built = true

var active atomic.Pointer[string]

func init() {
	if name := os.Getenv("LOOM_SABOTAGE"); name != "" {
		Set(name)
	}
}

// On reports whether the defect of this name is switched on. It panics if the
// name is in no list: a defect that is misspelled would never be found.
func On(name string) bool {
	known(name)
	p := active.Load()
	return p != nil && *p == name
}

// Set switches one defect on, and all others off; "" for none.
func Set(name string) {
	if name != "" {
		known(name)
	}
	active.Store(&name)
}

func known(name string) {
	for _, d := range defects {
		if d.Name == name {
			return
		}
	}
	panic("sabotage: no defect is named " + name)
}
