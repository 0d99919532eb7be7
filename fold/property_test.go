package fold

import (
	"errors"
	"reflect"
	"testing"

	"github.com/loomwork/loom/event"
)

const seeds = 200

// opOf returns the operation that an event is about, "" for none.
func opOf(e event.Envelope) string {
	p, _ := e.Decode()
	switch p := p.(type) {
	case event.EffectScheduled:
		return p.Op
	case event.EffectAttemptFailed:
		return p.Op
	case event.EffectCompleted:
		return p.Op
	case event.EffectFailed:
		return p.Op
	case event.TimerScheduled:
		return p.Op
	case event.TimerFired:
		return p.Op
	case event.MessageAwaited:
		return p.Op
	case event.MessageReceived:
		return p.Op
	}
	return ""
}

// TestFoldIsPure: the same twice; folding a prefix and going on is folding the
// whole; and the log is not touched.
func TestFoldIsPure(t *testing.T) {
	for seed := range uint64(seeds) {
		log := grow(seed, 40)
		again := grow(seed, 40)
		whole, err := Log(log)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		step := New()
		for i, e := range log {
			prefix, err := Log(log[:i])
			if err != nil || !reflect.DeepEqual(prefix, step) {
				t.Fatalf("seed %d: the fold of %d events is %+v, %v; one by one %+v", seed, i, prefix, err, step)
			}
			if err := step.Add(e); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if !reflect.DeepEqual(step, whole) {
			t.Fatalf("seed %d: one by one %+v, at once %+v", seed, step, whole)
		}
		for i := range log {
			if !log[i].Equal(again[i]) {
				t.Fatalf("seed %d: folding changed event %d", seed, i)
			}
		}
		if whole.Head != event.Seq(len(log)-1) || whole.Updated != log[len(log)-1].Time {
			t.Fatalf("seed %d: head %d, updated %d of %d events", seed, whole.Head, whole.Updated, len(log))
		}
	}
	t.Logf("tally: seeds=%d", seeds)
}

// refusedAt folds log and returns where it was refused, -1 for nowhere.
func refusedAt(t *testing.T, log []event.Envelope) (int, *State) {
	t.Helper()
	s := New()
	for i, e := range log {
		if err := s.Add(e); err != nil {
			var bad *LogError
			if !errors.As(err, &bad) {
				t.Fatalf("refused with %v", err)
			}
			return i, s
		}
	}
	return -1, s
}

// TestSequencesAreHeld: an event taken out, put in twice or moved without a new
// number is refused at the first place that shows it.
func TestSequencesAreHeld(t *testing.T) {
	for seed := range uint64(seeds / 6) {
		log := grow(seed, 40)
		for i := range log {
			gone := append(append([]event.Envelope{}, log[:i]...), log[i+1:]...)
			if at, _ := refusedAt(t, gone); at != i && i < len(log)-1 {
				t.Fatalf("seed %d: without event %d it was refused at %d", seed, i, at)
			}
			twice := append(append(append([]event.Envelope{}, log[:i+1]...), log[i]), log[i+1:]...)
			if at, _ := refusedAt(t, twice); at != i+1 {
				t.Fatalf("seed %d: with event %d twice it was refused at %d", seed, i, at)
			}
			if i == 0 {
				continue
			}
			swapped := append([]event.Envelope{}, log...)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			if at, _ := refusedAt(t, swapped); at != i-1 {
				t.Fatalf("seed %d: with %d before %d it was refused at %d", seed, i, i-1, at)
			}
		}
	}
}

// TestOrderMattersWhereItMust moves the content of one event and leaves sequence
// and time: two neighbours about one operation never change places, a fact never
// stands twice, and neighbours that have nothing to do with each other leave the
// same operations, however they stand.
func TestOrderMattersWhereItMust(t *testing.T) {
	refusals, swaps := 0, 0
	for seed := range uint64(seeds / 4) {
		log := grow(seed, 40)
		whole, err := Log(log)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(log); i++ {
			a, b := log[i-1], log[i]
			swapped := append([]event.Envelope{}, log...)
			swapped[i-1].Kind, swapped[i-1].Payload = b.Kind, b.Payload
			swapped[i].Kind, swapped[i].Payload = a.Kind, a.Payload
			at, s := refusedAt(t, swapped)
			same := opOf(a) != "" && opOf(a) == opOf(b)
			switch {
			case at >= 0:
				refusals++
				free := !same && opOf(a) != "" && opOf(b) != ""
				if free {
					t.Fatalf("seed %d: %s and %s at %d may stand in any order, and were refused", seed, a.Kind, b.Kind, i)
				}
			case same:
				t.Fatalf("seed %d: %s and %s of one operation at %d changed places", seed, a.Kind, b.Kind, i)
			case opOf(a) != "" && opOf(b) != "":
				swaps++
				if !reflect.DeepEqual(outcomes(whole), outcomes(s)) {
					t.Fatalf("seed %d: the order of %s and %s at %d changed %v to %v", seed, a.Kind, b.Kind, i, outcomes(whole), outcomes(s))
				}
			}
		}
		doubled(t, seed, log)
	}
	if refusals == 0 || swaps == 0 {
		t.Fatalf("%d refusals, %d swaps: the model makes no such logs", refusals, swaps)
	}
}

// doubled puts the content of each event in a second time, with a sequence of
// its own.
func doubled(t *testing.T, seed uint64, log []event.Envelope) {
	t.Helper()
	for i, e := range log {
		twice := append(append(append([]event.Envelope{}, log[:i+1]...), e), log[i+1:]...)
		for j := i + 1; j < len(twice); j++ {
			twice[j].Sequence++
		}
		at, _ := refusedAt(t, twice)
		p, _ := e.Decode()
		harmless := false // may stand twice
		switch p := p.(type) {
		case event.Unknown, event.StateSet:
			harmless = true
		case event.CancelRequested:
			harmless = p.Message == ""
		}
		if (at < 0) != harmless || at >= 0 && at != i+1 {
			t.Fatalf("seed %d: %s at %d, put in twice, was refused at %d", seed, e.Kind, i, at)
		}
	}
}

// outcomes are the operations by path, without where and when.
func outcomes(s *State) map[string]Op {
	m := map[string]Op{}
	for _, o := range s.Ops {
		o.First, o.Last, o.Began, o.Settled = 0, 0, 0, 0
		m[o.Path] = o
	}
	return m
}
