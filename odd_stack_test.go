package loom_test

import (
	"bytes"
	"context"
	"iter"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/fault"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest/oddstore"
)

// sealing keeps payloads sealed in the store below it, as encryption does.
type sealing struct{ store.Log }

var seal = []byte("sealed:")

func (s sealing) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	inner := make([]store.Request, len(reqs))
	for i, r := range reqs {
		r.Events = append([]event.Envelope(nil), r.Events...)
		for k := range r.Events {
			sealed := bytes.Clone(r.Events[k].Payload)
			for b := range sealed {
				sealed[b] ^= 0x5A
			}
			r.Events[k].Payload = append(bytes.Clone(seal), sealed...)
		}
		inner[i] = r
	}
	return s.Log.Commit(ctx, inner...)
}

func (s sealing) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		for e, err := range s.Log.Read(ctx, id, r) {
			opened, sealed := bytes.CutPrefix(e.Payload, seal)
			if err == nil && !sealed {
				err = store.ErrCorrupt
			}
			e.Payload = bytes.Clone(opened)
			for b := range e.Payload {
				e.Payload[b] ^= 0x5A
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// claim B-24: the read-back goes through the same decorators as everything else, whatever
// they are, asks for sequence 0 alone, and understands it.
func TestAReadBackGoesThroughTheStack(t *testing.T) {
	faults := func() store.Decorator { return fault.New(&fault.Options{Chooser: fault.Seeded(1)}).Decorator() }
	gathers := func() store.Decorator { return coalesce.New(nil) }
	scoped := func() store.Decorator {
		return store.Decorator{Name: "scoped", Rank: store.RankTenant, Wrap: func(s store.Store) store.Store { return oddstore.Scoped(s, "acme/") }}
	}
	sealed := func() store.Decorator {
		return store.Decorator{Name: "sealed", Rank: store.RankEncrypt, Wrap: func(s store.Store) store.Store { s.Log = sealing{s.Log}; return s }}
	}
	for name, c := range map[string]struct {
		stack []store.Decorator
		id    string // below
	}{
		"nothing":          {nil, "x"},
		"faults":           {[]store.Decorator{faults()}, "x"},
		"gathered commits": {[]store.Decorator{gathers()}, "x"},
		"sealed payloads":  {[]store.Decorator{sealed()}, "x"},
		"scoped ids":       {[]store.Decorator{scoped()}, "acme/x"},
		"all of them":      {[]store.Decorator{faults(), gathers(), sealed(), scoped()}, "acme/x"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var bodies counter
				var calls service
				flow := patient(&bodies, &calls)
				below := &line{}
				s := store.Of(memstore.New(nil))
				s.Log, s.Hints = lineLog{s.Log, below}, nil
				s, err := store.Stack(s, c.stack...)
				if err != nil {
					t.Fatal(err)
				}
				rt := open(t, store.Opened(s), loom.Flows(flow))
				begin(t, flow, rt, 1, loom.ID("x"))
				pass(t, time.Second)
				below.forget()
				if e := existing(t, flow, rt, 1, "x"); e.Flow != "patient" || !e.SameRequest {
					t.Fatalf("%+v", e)
				}
				below.asks(t, c.id, "commit", "read 0..0")
				if e := existing(t, flow, rt, 2, "x"); e.SameRequest {
					t.Fatalf("%+v", e)
				}
			})
		})
	}
}
