package kernel

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// TestAdoptTakesSequenceZeroOnly: anything else is refused, and nothing of it
// stays: no state, no event, no body. claim B-12
func TestAdoptTakesSequenceZeroOnly(t *testing.T) {
	entered := 0
	body := func(b *Branch) End { entered++; do(b, "a"); return done }
	first := Bootstrap(rigID, 1000, rigStart, nil)

	refuse := func(name string, r *rig, e event.Envelope) {
		t.Helper()
		before, branches, calls := *r.m.state, len(r.m.branches), entered
		if r.m.Adopt(e, rigStart) {
			t.Errorf("%s was adopted", name)
		}
		if !reflect.DeepEqual(*r.m.state, before) || len(r.m.branches) != branches || entered != calls {
			t.Errorf("%s changed the machine", name)
		}
		if es := r.m.TakeEvents(); len(es) != 0 {
			t.Errorf("%s wrote\n%s", name, logText(es))
		}
		if cs := r.m.TakeCalls(); len(cs) != 0 {
			t.Errorf("%s asked for %d effects", name, len(cs))
		}
	}

	fresh := newRig(t, body)
	for _, seq := range []event.Seq{event.None, 1, 2, 7} {
		e := first
		e.Sequence = seq
		refuse("a sequence that is not 0", fresh, e)
	}
	other := first
	other.Execution = "order-43"
	refuse("another execution's", fresh, other)

	if !fresh.m.Adopt(first, rigStart) || entered != 1 {
		t.Fatalf("sequence 0 was refused; entered %d", entered)
	}
	fresh.m.TakeEvents()
	fresh.m.TakeCalls()
	refuse("sequence 0 again", fresh, first)
	next := first
	next.Sequence = 2
	refuse("a start that comes next", fresh, next)

	fresh.m.CompleteEffect(fresh.op("a#1"), json.RawMessage("1"))
	fresh.m.TakeEvents()
	refuse("sequence 0 after the end", fresh, first)

	replayed := replay(t, []event.Envelope{first}, body)
	replayed.m.TakeCalls()
	refuse("sequence 0 after a replay", replayed, first)
}

// TestSequenceZeroIsTheSameOnBothPaths: a start with a chosen id commits it
// first, one with a minted id enqueues it; the bytes are those of the one builder.
// claim B-09
func TestSequenceZeroIsTheSameOnBothPaths(t *testing.T) {
	p := event.ExecutionStarted{Flow: "checkout", Version: "v1", Input: json.RawMessage(` {"b":1,"a":"<>&"}`), Seed: rigSeed,
		Labels: map[string]string{"10": "b", "9": "a"}, Deadline: 9000}
	meta := event.EncodeMeta(map[string]string{"trace": "7", "by": "ann"})
	index := store.IndexEntry{Flow: "checkout", Version: "v1"}
	build := func() event.Envelope { return Bootstrap("order-42", 1234, p, meta) }

	chosen := NewStart("order-42", "node-a", index)
	chosen.Enqueue(build())
	first, _ := chosen.Next(store.Nonce{1}, nil, store.StateKeep)
	if f := chosen.Settle(landed(first)); f != Durable {
		t.Fatalf("the start ended with %d", f)
	}
	body := func(b *Branch) End { do(b, "a"); return done }
	m := New("order-42", Config{Body: body, Coroutine: world.Coroutine, Stamp: func() event.Time { return 1234 }})
	t.Cleanup(m.Unload)
	if !m.Adopt(first.Events[0], p) {
		t.Fatal("not adopted")
	}
	if es := m.TakeEvents(); len(es) != 1 || es[0].Sequence != 1 {
		t.Fatalf("adopting wrote\n%s\nwant the first intent alone", logText(es))
	} else {
		chosen.Enqueue(es...)
	}

	minted := NewStart("order-42", "node-a", index)
	m2 := New("order-42", Config{Body: body, Coroutine: world.Coroutine, Stamp: func() event.Time { return 1234 }})
	t.Cleanup(m2.Unload)
	env := build()
	minted.Enqueue(env)
	if !m2.Adopt(env, p) {
		t.Fatal("not adopted")
	}
	minted.Enqueue(m2.TakeEvents()...)
	both, last := minted.Next(store.Nonce{2}, nil, store.StateKeep)
	if !last || len(both.Events) != 2 {
		t.Fatalf("the minted start sends %d events, last %v", len(both.Events), last)
	}
	rest, _ := chosen.Next(store.Nonce{3}, nil, store.StateKeep)
	if !first.Events[0].Equal(both.Events[0]) || !rest.Events[0].Equal(both.Events[1]) {
		t.Errorf("chosen\n%s %s\nminted\n%s %s", first.Events[0].Payload, rest.Events[0].Payload, both.Events[0].Payload, both.Events[1].Payload)
	}
	if e := first.Events[0]; e.ID() != "order-42-0" || e.Time != 1234 || string(e.Meta) != `{"by":"ann","trace":"7"}` {
		t.Errorf("sequence 0 is %+v", e)
	}
}
