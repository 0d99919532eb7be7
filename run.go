package loom

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
)

// run drives one execution on this node. Whoever holds the driver's role owns the
// machine and the journal; everybody else talks to the run through its post.
type run struct {
	rt   *Runtime
	id   event.ExecutionID
	flow AnyFlow
	seed string

	// Owned by who holds the driver's role.
	entered   bool
	next      *effectContext // to be called on the driver's own fiber
	m         *kernel.Machine
	j         *kernel.Journal
	first     *event.Envelope // sequence 0 of a start, to be adopted
	started   event.ExecutionStarted
	log       []kernel.Recorded // of a recovered execution, to be replayed
	box       mailbox           // mail that was looked at, and that nobody has received
	mailKnown int64
	pausing   *store.Message // asks for a pause that has not taken hold, nil for none
	mailAgain event.Time     // when to read the inbox again after a failure
	lookAgain event.Time     // when to ask for ownership again after a failure
	calls     []*kernel.Op   // effects that wait for their intent to be durable
	calling   int            // effects that are being called
	readers   int            // those of them that are read-only
	idleSince event.Time
	urgent    bool       // what is queued must not wait
	lazyUntil event.Time // when it need not wait any more, 0 if nothing does
	stopBy    event.Time // when a stopping run no longer waits for its effects
	sending   bool       // a commit is in flight on a fiber of its own
	hooks     *hookQueue
	clean     bool        // the owner before let go with nothing under way
	records   []*progress // that are not durable yet, in the order of their sequences
	origin    []byte      // payload of sequence 0
	parent    *parentLink // nil for an execution that is nobody's child
	finals    []final     // what the body left to do at its end, in the order of registration

	// Read by effects' fibers.
	dead  atomic.Bool   // nothing may be called any more
	owned atomic.Uint64 // the lease lapse under which ownership was last seen
	fired atomic.Bool   // the armed timer has fired
	since atomic.Int64  // Mono at which the body was last given control, 0 while it waits
	// durable says that sequence 0 is; it is set before born opens.
	durable atomic.Bool

	timer func()     // stops the armed timer
	armed event.Time // what it is armed for
	born  rt.Latch   // sequence 0 is durable, or never will be
	done  rt.Latch   // the run has left

	mu struct {
		sync.Mutex
		gone     bool // nobody reads the post any more
		driving  bool // somebody holds the driver's role
		news     bool // something was said since the driver last listened
		post     []letter
		stopping bool
		nudged   bool  // mail may have come
		err      error // why the run ended without an end, told once
		end      *ending
	}
}

// ending is how an execution ended.
type ending struct {
	status  fold.Status
	result  json.RawMessage
	failure *event.Failure
}

// letter is what another fiber has to say to the driver.
type letter struct {
	op       *kernel.Op
	attempt  int
	skipped  bool // an effect was not called
	progress *progress
	lost     bool // the execution was taken away
	asked    bool // what came of an earlier call was asked for
	verdict  Verdict
	result   []byte
	// failure is what an effect's error is recorded as, nil for a result.
	failure   *event.Failure
	permanent bool // not to be tried again
	paid      bool // the effect has done its work, and its result cannot be kept
	gaveWay   bool // the error says that its context ended
	answer    *answer
}

func (r *Runtime) newRun(id event.ExecutionID, f AnyFlow, seed string) *run {
	x := &run{rt: r, id: id, flow: f, seed: seed, born: r.world.NewLatch(), done: r.world.NewLatch()}
	x.armed = event.Never
	x.mu.driving = true // by the fiber that the caller begins
	x.plug(kernel.Config{Coroutine: x.watched, Stamp: r.node.now, Latest: r.node.latest})
	return x
}

// plug gives the run its machine. world is what that needs of the world.
func (x *run) plug(world kernel.Config) {
	world.Body, world.Final = x.body, x.final
	x.m = kernel.New(x.id, world)
}

// body runs the flow's function on the main branch.
func (x *run) body(k *kernel.Branch) kernel.End {
	return x.flow.run(&branch{Context: bodyContext, k: k, run: x}, x.m.State().Input, x.rt.tune.MaxPayload)
}

// born0 takes what the execution's first event says of it.
func (x *run) born0(first event.Envelope) { x.origin, x.parent = first.Payload, linkOf(first) }

// bodyContext is what a body's Context is made of: never done, no values.
var bodyContext = context.Background()

// register makes x the run of its execution on this node; false if the runtime
// closes, or has one.
func (r *Runtime) register(x *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closing || r.mu.live[x.id] != nil {
		return false
	}
	r.mu.live[x.id] = x
	return true
}

// liveRun returns this node's run of an execution, nil for none.
func (r *Runtime) liveRun(id event.ExecutionID) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.live[id]
}

// wakeAll makes every run look at the world again.
func (r *Runtime) wakeAll() {
	r.mu.Lock()
	runs := r.liveRuns()
	r.mu.Unlock()
	for _, x := range runs {
		x.poke()
	}
}

// take takes the driver's role for the calling fiber, which must then call drive. It
// returns false if somebody holds it, who will hear of what was said before; or if the
// run has left, whose role is held for ever.
func (x *run) take() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.news = true
	if x.mu.driving {
		return false
	}
	x.mu.driving = true
	return true
}

// rest gives the driver's role up; false if something was said since the driver last
// listened, and it has to go on.
func (x *run) rest() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mu.news {
		return false
	}
	x.mu.driving = false
	return true
}

// poke makes sure that somebody drives.
func (x *run) poke() {
	if x.take() {
		x.rt.world.Go("run", x.drive)
	}
}

// takeAndDrive does the same on the calling fiber.
func (x *run) takeAndDrive() {
	if x.take() {
		x.drive()
	}
}

// send puts a letter into the run's post. The sender then pokes, or takes the role.
func (x *run) send(l letter) {
	x.mu.Lock()
	gone := x.mu.gone
	if !gone {
		x.mu.post = append(x.mu.post, l)
	}
	x.mu.Unlock()
	if gone && l.progress != nil {
		l.progress.fail(ErrSettled)
	}
}

// stop asks the run to let its execution go.
func (x *run) stop() {
	x.mu.Lock()
	x.mu.stopping = true
	x.mu.Unlock()
	x.poke()
}

func (x *run) stopping() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.stopping
}

// nudge says that mail may have come.
func (x *run) nudge() {
	x.mu.Lock()
	x.mu.nudged = true
	x.mu.Unlock()
	x.poke()
}

// fail notes why the run ends without an end of the execution.
func (x *run) fail(err error) {
	x.mu.Lock()
	if x.mu.err == nil {
		x.mu.err = err
	}
	x.mu.Unlock()
}

// takeError returns why the run ended without an end, once.
func (x *run) takeError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.mu.err
	x.mu.err = nil
	return err
}

// reason returns why the run ended without an end, without taking it.
func (x *run) reason() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mu.err == nil {
		return errSuperseded
	}
	return x.mu.err
}

// opened says that sequence 0 is durable.
func (x *run) opened() {
	x.durable.Store(true)
	x.born.Open()
}

func (x *run) ending() *ending {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.end
}
