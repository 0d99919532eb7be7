package loom

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

const maxTextBytes = 256

func checkText(what, v string) error {
	switch {
	case !utf8.ValidString(v):
		return &InputValidationError{What: what, Err: errors.New("is not valid UTF-8")}
	case len(v) > maxTextBytes:
		return &InputValidationError{What: what, Err: fmt.Errorf("has %d bytes, the limit is %d", len(v), maxTextBytes)}
	}
	return nil
}

// start begins an execution; own is the run of this node, nil if another node will
// drive it.
func (r *Runtime) start(ctx context.Context, flow, version string, input json.RawMessage, opts []StartOption) (event.ExecutionID, *run, error) {
	var s startSpec
	for _, o := range opts {
		o(&s)
	}
	return r.startAs(ctx, flow, version, input, s)
}

// startAs is start with the options put together.
func (r *Runtime) startAs(ctx context.Context, flow, version string, input json.RawMessage, s startSpec) (event.ExecutionID, *run, error) {
	if err := s.validate(r.tune.MaxPayload); err != nil {
		return "", nil, err
	}
	if err := ctx.Err(); err != nil {
		return "", nil, context.Cause(ctx)
	}
	if !s.chosen {
		s.id = event.ExecutionID(r.mint())
	}
	for i := range s.mail {
		if m := &s.mail[i].m; m.ID == "" {
			m.ID = r.mint()
		}
	}
	var seed [8]byte
	r.world.Random(seed[:])
	p := event.ExecutionStarted{Flow: flow, Version: version, Input: input, Seed: hex.EncodeToString(seed[:]), Labels: s.labels}
	if !s.deadline.IsZero() {
		// Rounded up: never early. 0 would read as none.
		p.Deadline = max(event.At(s.deadline.Add(time.Microsecond-1)), 1)
	}
	now := r.node.now()
	if s.delay > 0 {
		s.meta = merge(s.meta, map[string]string{event.MetaNotBefore: strconv.FormatInt(int64(r.node.latest().Add(s.delay)), 10)})
	}
	if s.parent != nil {
		s.meta = merge(s.meta, map[string]string{event.MetaParent: s.parent.String()})
	}
	env := kernel.Bootstrap(s.id, now, p, event.EncodeMeta(s.meta))
	index := store.IndexEntry{Flow: flow, Version: version, Labels: s.labels}
	if s.parent != nil {
		index.Parent = s.parent.Execution
	}

	f, known := r.flows[index.Needs()]
	if !known || r.tune.ClientOnly || s.delay > 0 {
		return s.id, nil, r.startForOthers(ctx, env, index, max(now, firstWake(env, p)), s.posts())
	}
	done, ok := r.begin(s.id)
	if !ok {
		return "", nil, ErrClosed
	}
	defer done()
	x := r.newRun(s.id, f, p.Seed)
	x.first, x.started = &env, p
	x.born0(env)
	posts := s.posts()
	x.j = kernel.NewStart(s.id, r.node.id, index, posts...)
	x.mu.nudged = len(posts) > 0
	// What a start brings with it is there before the body asks for it.
	if (s.chosen || len(posts) > 0) && !(s.composed && sabotage.On("precheck-only")) {
		x.j.Enqueue(env)
		mine, err := r.bootstrap(ctx, x.j, env, nil)
		if err != nil || !mine {
			return s.id, nil, err
		}
	}
	if !r.register(x) {
		return s.id, nil, x.unregistered()
	}
	lapse, _ := r.node.holds()
	x.owned.Store(lapse)
	r.world.Go("run", x.drive)
	r.tell(s.id)
	return s.id, x, nil
}

// unregistered answers a start that found the runtime closing. One with a chosen id is
// durable by then: it is let go, and another node goes on with it.
func (x *run) unregistered() error {
	if !x.j.Born() {
		return ErrClosed
	}
	x.letGo(0)
	return nil
}

// begin notes that a request about an execution is under way, so that reconcile
// does not take the execution for forgotten.
func (r *Runtime) begin(id event.ExecutionID) (done func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closing {
		return nil, false
	}
	r.mu.busy[id]++
	return func() {
		r.left(func() {
			if r.mu.busy[id]--; r.mu.busy[id] == 0 {
				delete(r.mu.busy, id)
			}
		})
	}, true
}

// startForOthers writes an execution down that nobody owns yet, to be woken at an instant.
func (r *Runtime) startForOthers(ctx context.Context, env event.Envelope, index store.IndexEntry, at event.Time, posts []store.Post) error {
	done, ok := r.begin(env.Execution)
	if !ok {
		return ErrClosed
	}
	defer done()
	j := kernel.NewStart(env.Execution, "", index, posts...)
	j.Enqueue(env)
	_, err := r.bootstrap(ctx, j, env, &store.Release{WakeAt: at})
	if len(posts) > 0 {
		at = 0 // the store has woken it for its mail
	}
	if err == nil {
		r.wakeScanAt(at)
	}
	return err
}
