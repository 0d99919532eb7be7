package loom

import (
	"context"
	"errors"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
)

// answer is the store's answer to the request in flight, or why there is none.
type answer struct {
	res   store.Result
	lapse uint64 // of the lease, as the request was sent
	err   error  // the request was given up
}

// Results of read-only steps alone may gather: up to lazyEvents of them, or for
// lazyTime. Anything else is committed at once.
const (
	lazyEvents = 128
	lazyTime   = 50 * time.Millisecond
)

// What may be not durable before an execution, or all of a process, waits for the
// store.
const (
	maxRunBacklog     = 1 << 20
	maxRuntimeBacklog = 64 << 20
)

// mustCommit reports whether the journal has something to send now.
func (x *run) mustCommit() bool {
	if x.sending || x.dead.Load() || !x.j.Dirty() {
		return false
	}
	if events, _ := x.j.Backlog(); x.readers == 0 || x.urgent || events >= lazyEvents || x.full() {
		return true
	}
	now := x.rt.node.now()
	if x.lazyUntil == 0 {
		x.lazyUntil = now.Add(lazyTime)
	}
	return now >= x.lazyUntil
}

// full reports whether too much is not durable to go on without waiting.
func (x *run) full() bool {
	_, bytes := x.j.Backlog()
	return bytes >= maxRunBacklog || x.rt.backlog.Load() >= maxRuntimeBacklog
}

// commit sends what is queued and takes the answer; false if the run is over.
// While read-only effects run it does not wait for the store.
func (x *run) commit() bool {
	release := x.ride()
	req, last := x.j.Next(x.rt.nonce(), release, store.StateKeep)
	x.urgent, x.lazyUntil = false, 0
	if x.readers > 0 && !x.full() {
		x.sending = true
		x.rt.world.Go("commit", func() {
			a := x.transmit(req)
			x.send(letter{answer: &a})
			x.takeAndDrive()
		})
		return true
	}
	x.launch() // an effect is not kept waiting for the store
	a := x.transmit(req)
	if !x.settle(&a) {
		return false
	}
	if release != nil && last {
		x.parked(release.WakeAt)
		return false
	}
	return true
}

// transmit sends a request until the store says what became of it. A store-wide
// failure is waited out under the same nonce while this node may trust its lease:
// a database that restarts must not repeat paid effects.
func (x *run) transmit(req *store.Request) answer {
	wait := 2 * time.Millisecond
	reported, maybe := false, false
	var giveUp time.Duration // Mono, once the runtime closes
	for {
		lapse, _ := x.rt.node.holds()
		res, err := x.rt.commitOne(x.rt.ctx, req)
		if err == nil && res.Outcome != store.Failed && res.Outcome != store.Unknown && res.Refusal != store.RefusedLease {
			return answer{res: res, lapse: lapse}
		}
		if err == nil {
			err = res.Err
		}
		maybe = maybe || res.Outcome == store.Unknown
		if res.Refusal == store.RefusedLease {
			err = errors.Join(errNoLease, x.rt.node.renew(x.rt.ctx))
		}
		if x.rt.ctx.Err() != nil {
			return answer{err: &StorageWriteError{ID: x.id, Err: context.Cause(x.rt.ctx)}}
		}
		if !reported {
			reported = true
			x.rt.storageError(x.id, err)
		}
		if _, held := x.rt.node.holds(); !held {
			return answer{err: &StorageWriteError{ID: x.id, Err: err, Definite: !maybe}}
		}
		if mono := x.rt.world.Mono(); x.stopping() {
			if giveUp == 0 {
				giveUp = mono + x.rt.tune.CloseGrace // others take it over once this node has left
			} else if mono > giveUp {
				return answer{err: &StorageWriteError{ID: x.id, Err: err, Definite: !maybe}}
			}
		}
		if x.rt.waitFor(x.rt.ctx, x.rt.world.NewSignal(), wait) != nil {
			continue // the next round sees that ctx is over
		}
		if sabotage.On("fresh-nonce") {
			req.Nonce = x.rt.nonce()
		}
		if sabotage.On("resent-unpublished") {
			again := *req
			again.Publish = nil
			req = &again
		}
		wait = min(2*wait, time.Second)
	}
}

var errNoLease = errors.New("loom: the node's lease is not alive")

// commitOne sends one request. An error is that nothing was attempted.
func (r *Runtime) commitOne(ctx context.Context, req *store.Request) (store.Result, error) {
	if _, ok := rt.Of(ctx); !ok {
		ctx = rt.With(ctx, r.world) // a decorator that gathers commits waits and works in this world
	}
	sent := r.world.Mono()
	results, err := r.st.Log.Commit(ctx, *req)
	if err != nil {
		return store.Result{Outcome: store.Failed}, err
	}
	r.node.saw(results[0].Now, sent)
	return results[0], nil
}

// settle takes an answer; false if the run is over.
func (x *run) settle(a *answer) bool {
	if a.err != nil {
		x.poison(a.err)
		return false
	}
	from := x.j.Durable()
	flight := x.j.InFlight()
	_, before := x.j.Backlog()
	switch fate := x.j.Settle(a.res); fate {
	case kernel.Durable:
		x.owned.Store(a.lapse)
		_, after := x.j.Backlog()
		x.rt.backlog.Add(int64(after - before))
		x.mailKnown = max(x.mailKnown, a.res.Mail)
		x.acknowledged(from, flight.Events)
		return true
	case kernel.MailWaits:
		x.mailKnown = max(x.mailKnown, a.res.Mail)
		return true
	case kernel.Superseded:
		if x.j.Born() {
			x.opened() // ours by its birth, and another's since
		}
		x.abort(errSuperseded)
		return false
	default:
		x.poison(&StorageWriteError{ID: x.id, Err: refusalError(a.res), Definite: true})
		return false
	}
}

// acknowledged says that events are durable.
func (x *run) acknowledged(from event.Seq, events []event.Envelope) {
	if from == event.None {
		x.opened()
	}
	x.recorded()
	if x.hooks != nil && !sabotage.On("durable-early") {
		for i, e := range events {
			if i > 0 && sabotage.On("durable-gap") {
				break
			}
			x.wasDurable(e)
		}
	}
}

// poison ends the run because its writes do not arrive. Whoever waits for a result
// is told once; the execution goes on by reconcile, when the store is back.
func (x *run) poison(err error) {
	x.fail(err)
	x.abort(err)
	x.rt.reconcileSoon()
}

// abort ends the run: nothing may be called any more, and subscribers hear which
// events never became durable.
func (x *run) abort(cause error) {
	if x.dead.Swap(true) && !sabotage.On("aborted-twice") {
		return // subscribers hear of it once
	}
	x.endEffects(cause)
	if n, _ := x.j.Backlog(); n > 0 && !sabotage.On("aborted-untold") {
		x.aborted(x.j.Durable()+1, cause)
		if sabotage.On("told-after-abort") {
			x.event(event.Envelope{Execution: x.id, Sequence: x.j.Durable() + 1})
		}
	}
}

func refusalError(res store.Result) error {
	if res.Err != nil {
		return res.Err
	}
	return store.Code("refused: " + res.Refusal.String())
}

// stillMine reports whether effects may be called: the lease holds, and ownership
// was seen since it last lapsed. After a lapse it asks the store.
func (x *run) stillMine() bool {
	lapse, ok := x.rt.node.holds()
	if !ok {
		return false
	}
	if lapse == x.owned.Load() {
		return true
	}
	if sabotage.On("lapse-forgotten") {
		x.owned.Store(lapse)
		return true
	}
	if x.lookAgain != 0 {
		return false
	}
	h, found, err := x.rt.st.Index.Get(x.rt.ctx, x.id)
	if err != nil {
		x.rt.log.Warn("loom: ownership not confirmed", "execution", x.id, "err", err)
		x.lookAgain = x.rt.node.now().Add(x.rt.tune.Lease / 12)
		return false
	}
	tip := x.j.Tip()
	if !found || h.Owner != x.rt.node.id || h.Tip.Fence != tip.Fence || h.Tip.Anchor != tip.Anchor {
		x.abort(errSuperseded) // the next round leaves
		return false
	}
	x.owned.Store(lapse)
	return true
}
