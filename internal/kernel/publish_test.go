package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// most is how many keys these bodies may show.
const most = 64

func set(b *Branch, key, value string) {
	if full, d := b.Publish(key, json.RawMessage(value), most); full || d != Allowed {
		panic(fmt.Sprint(full, d))
	}
}

// A publication is recorded in its place among the commands of the turn, opens nothing,
// and is recorded after a cancel as before it.
func TestPublish(t *testing.T) {
	r := start(t, func(b *Branch) End {
		set(b, "stage", `"new"`)
		do(b, "pay")
		set(b, "stage", `"paid"`)
		o, _ := b.Timer("nap", 1000, 0)
		b.Wait(o)
		set(b, "stage", `"cancelled"`)
		set(b, "gone", "null")
		return done
	})
	r.want(`
0 EXECUTION_STARTED
1 STATE_SET stage "new"
2 EFFECT_SCHEDULED pay#1`)
	r.complete("pay#1", "1")
	if only, _ := r.m.Waits(); !only {
		t.Error("a publication is under way")
	}
	r.cancel("m-1")
	if got := r.m.State().Published; !reflect.DeepEqual(got, map[string]json.RawMessage{"stage": json.RawMessage(`"cancelled"`)}) || !r.m.Ended() {
		t.Errorf("%s, ended %v", got, r.m.Ended())
	}
}

// Replay asks for the same pairs; another value, another key, or none in their place
// diverges.
func TestAnotherPublicationDiverges(t *testing.T) {
	body := func(key, value string) func(b *Branch) End {
		return func(b *Branch) End {
			if key != "" {
				set(b, key, value)
			}
			do(b, "pay")
			return done
		}
	}
	was := start(t, body("stage", `"new"`))
	was.complete("pay#1", "1")
	if r := replay(t, was.log, body("stage", `"new"`)); len(r.log) != len(was.log) {
		t.Fatalf("replayed, it wrote\n%s", r.text())
	}
	for _, other := range [][3]string{
		{"stage", `"old"`, `STATE_SET stage "old"`}, {"state", `"new"`, `STATE_SET state "new"`},
		{"stage", "null", "STATE_SET stage null"}, {"", "", "EFFECT_SCHEDULED pay#1"}} {
		m := newRig(t, body(other[0], other[1])).m
		var d *Divergence
		if err := replayLog(m, was.log); !errors.As(err, &d) || d.Sequence != 1 || d.Recorded != `STATE_SET stage "new"` || d.Asked != other[2] {
			t.Errorf("%s: %v", other[2], err)
		}
	}
}

// One key more than may be shown is refused without a trace; one that is shown may
// change, and one that is taken back makes room. The same in every replay.
func TestTooManyKeys(t *testing.T) {
	var saw []string
	body := func(b *Branch) End {
		saw = nil
		ask := func(key, value string) {
			full, d := b.Publish(key, json.RawMessage(value), most)
			saw = append(saw, fmt.Sprint(key, " ", full, " ", d))
		}
		for i := range most {
			set(b, fmt.Sprint("k", i), "1")
		}
		do(b, "pay")
		ask("more", "1")
		ask("k0", "2")
		ask("more", "null")
		ask("k1", "null")
		ask("more", "1")
		ask("k1", "1")
		do(b, "ship")
		return done
	}
	want := []string{"more true 0", "k0 false 0", "more false 0", "k1 false 0", "more false 0", "k1 true 0"}
	r := start(t, body)
	r.complete("pay#1", "1")
	if !reflect.DeepEqual(saw, want) {
		t.Fatalf("%q", saw)
	}
	if n := len(r.m.State().Published); n != most {
		t.Errorf("%d keys are shown", n)
	}
	if replay(t, r.log, body); !reflect.DeepEqual(saw, want) {
		t.Errorf("replayed: %q", saw)
	}
}

// Each request publishes what its own events show, in their order; one that is split
// publishes each part with its own.
func TestPublicationsTravelWithTheirEvents(t *testing.T) {
	pair := func(seq event.Seq, key, value string) event.Envelope {
		return event.New(rigID, seq, 1, event.StateSet{Key: key, Value: json.RawMessage(value)}, nil)
	}
	j := owned(0)
	j.Enqueue(pair(10, "a", `"x \"y\""`), fact(11, MaxCommitBytes), pair(12, "a", "null"), pair(13, "b", "1.5"), pair(14, "a", "true"))
	req, last := j.Next(nonce, nil, store.StateKeep)
	if want := []store.Publication{{Key: "a", Value: `x "y"`}}; last || !reflect.DeepEqual(req.Publish, want) {
		t.Fatalf("first: last %v, %+v", last, req.Publish)
	}
	if fate := j.Settle(landed(req)); fate != Durable {
		t.Fatal(fate)
	}
	if req, last = j.Next(nonce2, nil, store.StateKeep); last || req.Publish != nil {
		t.Fatalf("the large one: last %v, %+v", last, req.Publish)
	}
	if fate := j.Settle(landed(req)); fate != Durable {
		t.Fatal(fate)
	}
	req, last = j.Next(store.Nonce{3}, nil, store.StateKeep)
	if want := []store.Publication{{Key: "a", Gone: true}, {Key: "b", Value: "1.5"}, {Key: "a", Value: "true"}}; !last || !reflect.DeepEqual(req.Publish, want) {
		t.Fatalf("second: last %v, %+v", last, req.Publish)
	}
	if fate := j.Settle(landed(req)); fate != Durable {
		t.Fatal(fate)
	}
	j.Enqueue(fact(15, 10))
	if req, _ = j.Next(store.Nonce{4}, nil, store.StateKeep); req.Publish != nil {
		t.Fatalf("last: %+v", req.Publish)
	}
}

// What the requests of random runs publish, one after the other, is what their logs fold
// to.
func TestRequestsPublishWhatLogsFoldTo(t *testing.T) {
	pairs := 0
	for seed := range uint64(replaySeeds) {
		r := goLive(t, seed).r
		shown := map[string]string{}
		for _, p := range published(r.log) {
			if shown[p.Key] = p.Value; p.Gone {
				delete(shown, p.Key)
			}
		}
		want := map[string]string{}
		for key, value := range r.m.State().Published { // order does not matter: it goes into a map
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			want[key] = text
		}
		if !maps.Equal(shown, want) {
			t.Fatalf("seed %d: %q, the fold has %q", seed, shown, want)
		}
		pairs += len(want)
	}
	if pairs < 50 {
		t.Errorf("the runs show %d pairs", pairs)
	}
}
