package sim

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// patience is how long one step may take in real time. A step that takes longer
// waits for something that the world does not know: a mutex that a waiting fiber
// holds, a channel, real I/O that hangs.
const patience = 60 * time.Second

// watch ends the process, with all stacks, when the world stands still in real
// time; the goroutine that hangs can be stopped by nobody else.
func (w *World) watch() (stop func()) {
	if w.opts.Stuck != nil {
		return w.watchVisitors()
	}
	last := int64(-1)
	var t *time.Timer
	t = time.AfterFunc(patience, func() {
		if s := w.steps.Load(); s != last {
			last = s
			t.Reset(patience)
			return
		}
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		fmt.Fprintf(os.Stderr, "sim: seed %d: step %d does not end\n%s\n", w.seed, last, buf)
		panic("sim: a fiber waits for something outside of the world")
	})
	return func() { t.Stop() }
}
