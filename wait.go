package loom

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
)

func (r *Runtime) mintAt(t event.Time) string {
	var u ulid.ULID
	_ = u.SetTime(ulid.Timestamp(t.Time()))
	r.world.Random(u[6:])
	return u.String()
}

// sleep waits for d, or returns the cause of the runtime's end.
func (r *Runtime) sleep(d time.Duration) error {
	return r.waitFor(r.ctx, r.world.NewSignal(), d)
}

// waitFor waits for s, at most for d; it returns the cause of ctx's end.
func (r *Runtime) waitFor(ctx context.Context, s rt.Signal, d time.Duration) error {
	stop := r.world.After(d, s.Wake)
	defer stop()
	return s.Wait(ctx)
}

// watch registers a signal that wakes when this node learns something about the
// execution. The caller unwatches it.
func (r *Runtime) watch(id event.ExecutionID) rt.Signal {
	s := r.world.NewSignal()
	r.mu.Lock()
	r.mu.watchers[id] = append(r.mu.watchers[id], s)
	r.mu.Unlock()
	return s
}

func (r *Runtime) unwatch(id event.ExecutionID, s rt.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.mu.watchers[id]
	for i, w := range all {
		if w == s {
			all = append(all[:i:i], all[i+1:]...)
			break
		}
	}
	if len(all) == 0 {
		delete(r.mu.watchers, id)
		return
	}
	r.mu.watchers[id] = all
}

// tell wakes who watches the execution.
func (r *Runtime) tell(id event.ExecutionID) {
	r.mu.Lock()
	all := r.mu.watchers[id]
	r.mu.Unlock()
	for _, s := range all {
		s.Wake()
	}
}

// poll is how long a wait for something in the store may rely on hints.
func (r *Runtime) poll() time.Duration {
	if r.st.Hints != nil {
		return r.tune.Scan
	}
	return r.tune.Scan / 4
}
