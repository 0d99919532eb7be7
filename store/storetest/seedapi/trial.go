package seedapi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/storetest"
)

// trial is an empty store in which one promise is tried.
type trial struct {
	*testing.T
	*Log
	ctx     context.Context
	s       store.Store
	advance func(time.Duration)
	level   store.Level
}

var nonces atomic.Uint64

// nonce returns one that no other call in this process returns.
func nonce() (n store.Nonce) {
	n[0] = 0x5E
	binary.BigEndian.PutUint64(n[8:], nonces.Add(1))
	return n
}

// newTrial opens a bench and closes it with the test.
func newTrial(t *testing.T, open storetest.Opener, level store.Level) *trial {
	b, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.Close != nil && b.Close() != nil {
			t.Error("the bench does not close")
		}
	})
	return &trial{T: t, Log: New(b.Store, nonce), ctx: context.WithoutCancel(t.Context()), s: b.Store, advance: b.Advance, level: level}
}

// at is the time of the events that a trial makes.
const at = event.Time(1_700_000_000_000_000)

// env returns the event of id at seq; note tells two of one slot apart.
func env(id event.ExecutionID, seq event.Seq, note string) event.Envelope {
	if seq == 0 {
		return event.New(id, 0, at, event.ExecutionStarted{Flow: "seed", Input: fmt.Appendf(nil, "%q", note), Seed: "00"}, nil)
	}
	return event.New(id, seq, at+event.Time(seq), event.EffectCompleted{Op: fmt.Sprintf("work#%d", seq), Result: fmt.Appendf(nil, "%q", note)}, nil)
}

// lands appends an event, which must land.
func (x *trial) lands(id event.ExecutionID, seq event.Seq, token store.Fence) {
	x.Helper()
	if err := x.Append(x.ctx, env(id, seq, "lands"), token); err != nil {
		x.Fatalf("sequence %d under token %d: %v", seq, token, err)
	}
}

// grown creates an execution without a token and appends until its head is head.
func (x *trial) grown(id event.ExecutionID, head event.Seq, note string) {
	x.Helper()
	token := store.NoFence
	for seq := event.Seq(0); seq <= head; seq++ {
		if seq == 1 {
			token = x.tip(id).Fence // a store without incarnations gives one of its own after a deletion
		}
		if err := x.Append(x.ctx, env(id, seq, note), token); err != nil {
			x.Fatalf("sequence %d: %v", seq, err)
		}
	}
}

// refused wants an operation to end in an error of this type and the log of id
// to be what it was.
func refused[E error](x *trial, id event.ExecutionID, act func() error) E {
	x.Helper()
	before, head := x.log(id), x.row(id)
	err := act()
	var want E
	if !errors.As(err, &want) {
		x.Fatalf("%v, want a %T", err, want)
	}
	if after := x.log(id); !slices.EqualFunc(before, after, event.Envelope.Equal) || fmt.Sprint(x.row(id)) != fmt.Sprint(head) {
		x.Fatalf("it was refused, and the log went from %d to %d events", len(before), len(after))
	}
	return want
}

// acquire takes the next token, which must be want.
func (x *trial) acquire(id event.ExecutionID, want store.Fence) {
	x.Helper()
	if got, err := x.AcquireFence(x.ctx, id); err != nil || got != want {
		x.Fatalf("acquired %d, %v; want %d", got, err, want)
	}
}

func (x *trial) tip(id event.ExecutionID) Tip {
	x.Helper()
	tip, err := x.LoadTip(x.ctx, id)
	if err != nil {
		x.Fatal(err)
	}
	return tip
}

func (x *trial) row(id event.ExecutionID) store.Head {
	x.Helper()
	h, _, err := x.s.Index.Get(x.ctx, id)
	if err != nil {
		x.Fatal(err)
	}
	return h
}

// log returns the log of id, which must have no gap.
func (x *trial) log(id event.ExecutionID) (out []event.Envelope) {
	x.Helper()
	for e, err := range x.ReadFrom(x.ctx, id, 0) {
		if err != nil || e.Sequence != event.Seq(len(out)) {
			x.Fatalf("event %d is %s: %v", len(out), e.ID(), err)
		}
		out = append(out, e)
	}
	return out
}

// unchanged appends under a tip that was seen, and wants this verdict.
func (x *trial) unchanged(want Verdict, id event.ExecutionID, seen Tip) {
	x.Helper()
	before := len(x.log(id))
	got, err := x.AppendIfUnchanged(x.ctx, id, seen, env(id, seen.Head+1, "outcome"))
	if err != nil || got != want {
		x.Fatalf("under the tip %+v: verdict %d, %v; want %d", seen, got, err, want)
	}
	grown := 0
	if want == Appended {
		grown = 1
	}
	if after := len(x.log(id)); after != before+grown {
		x.Fatalf("verdict %d, and the log went from %d to %d events", want, before, after)
	}
}

// commit sends a request by the one write door and returns the answer.
func (x *trial) commit(req store.Request) store.Result {
	x.Helper()
	req.Nonce = nonce()
	res, err := x.s.Log.Commit(x.ctx, req)
	if err != nil || len(res) != 1 {
		x.Fatalf("%d results, %v", len(res), err)
	}
	return res[0]
}

// claim takes an execution by the one write door, with these events.
func (x *trial) claim(id event.ExecutionID, node store.NodeID, when store.When, state store.State, es ...event.Envelope) {
	x.Helper()
	res := x.commit(store.Request{Execution: id, Expect: x.row(id).Tip, Events: es, Claim: &store.Claim{Owner: node, When: when}, State: state})
	if res.Outcome != store.Committed {
		x.Fatalf("claim of %s: %s, %s", id, res.Outcome, res.Refusal)
	}
}

func (x *trial) lease(node store.NodeID, ttl time.Duration) {
	x.Helper()
	if _, err := x.s.Leaser.Renew(x.ctx, node, ttl, []string{"seed"}); err != nil {
		x.Fatal(err)
	}
}
