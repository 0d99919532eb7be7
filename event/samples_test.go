package event

import (
	"encoding/json"
	"flag"
	"reflect"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of this version")

// A sample is one payload of a kind, with every field set or with those alone
// that must be.
type sample struct {
	full bool
	p    Payload
}

func (s sample) name() string {
	if s.full {
		return "full"
	}
	return "minimal"
}

// trap is a raw value that any encoder would write differently: blanks, key
// order, exponents, escapes, a lone surrogate, a NUL, a number beyond 2^53.
const trap = `{ "9":1e21,"10":-0, "b":9007199254740993,"a":"<>&` + "\u2028" + `\ud800\u0000\/","c":0.1 }`

func samples() []sample {
	raw := json.RawMessage(trap)
	full := &Failure{Code: "card_declined", Message: "no \"funds\"\n<\u2028>", Chain: []string{"timeout", "é"}, Stack: []string{"main.pay:12"},
		Details: []Detail{{"card_declined", raw}, {"timeout", json.RawMessage("null")}}}
	bare := &Failure{Code: "error"}
	null := json.RawMessage("null")
	return []sample{
		{true, ExecutionStarted{Flow: "checkout", Version: "v2", Input: raw, Seed: "00c0ffee00c0ffee",
			Labels: map[string]string{"9": "nine", "10": "ten", "tenant": "acme"}, Deadline: 1_700_000_000_000_000}},
		{false, ExecutionStarted{Flow: "checkout", Input: null, Seed: "0"}},
		{true, ExecutionContinued{Generation: 2, Input: raw}},
		{false, ExecutionContinued{Generation: 2, Input: null}},
		{true, EffectScheduled{Op: "a#1/charge#2", Args: raw}},
		{false, EffectScheduled{Op: "charge#1"}},
		{true, EffectAttemptFailed{Op: "charge#1", Attempt: 2, Error: full, NotBefore: 1_700_000_000_000_001}},
		{false, EffectAttemptFailed{Op: "charge#1", Attempt: 1, Error: bare, NotBefore: 1}},
		{true, EffectProgressed{Op: "upload#1", Value: raw}},
		{false, EffectProgressed{Op: "upload#1", Value: null}},
		{true, EffectCompleted{Op: "charge#1", Result: raw}},
		{false, EffectCompleted{Op: "charge#1", Result: null}},
		{true, EffectFailed{Op: "charge#1", Attempt: 3, Error: full}},
		{false, EffectFailed{Op: "charge#1", Error: bare}},
		{true, TimerScheduled{Op: "cool-off#1", Deadline: Never}},
		{false, TimerScheduled{Op: "cool-off#1", Deadline: 1}},
		{true, TimerFired{Op: "cool-off#1"}},
		{false, TimerFired{Op: "cool-off#1"}},
		{true, MessageAwaited{Op: "approval#1", Name: "approval", Deadline: 1_700_000_000_000_002}},
		{false, MessageAwaited{Op: "approval#1", Name: "approval"}},
		{true, MessageReceived{Op: "approval#1", Name: "approval", Message: "m-1", Body: raw}},
		{false, MessageReceived{Op: "approval#1", Name: "approval", Message: "m-1", Body: null}},
		{true, ChildScheduled{Op: "ship#1", Execution: "order-42/ABC", Flow: "shipping", OnCancel: "abandon"}},
		{false, ChildScheduled{Op: "ship#1", Execution: "order-42/ABC", Flow: "shipping"}},
		{true, ChildStarted{Op: "ship#1"}},
		{false, ChildStarted{Op: "ship#1"}},
		{true, ChildSettled{Op: "ship#1", Message: "m-4", Status: "completed", Result: raw, Error: full}},
		{false, ChildSettled{Op: "ship#1", Status: "refused"}},
		{true, RequestAnswered{Request: "m-5", Result: raw, Error: full}},
		{false, RequestAnswered{Request: "m-5", Result: null}},
		{true, CancelRequested{Cause: "asked", Message: "m-2", Reason: "the \\ customer\tleft"}},
		{false, CancelRequested{Cause: "deadline"}},
		{true, VersionMarked{Change: "new-tax", Version: 3}},
		{false, VersionMarked{Change: "new-tax", Version: 1}},
		{true, StateSet{Key: "stage", Value: raw}},
		{false, StateSet{Key: "stage", Value: null}},
		{true, OperatorRecovered{By: "loom recover", Strikes: 8, TakenFrom: "01J00000000000000000000000"}},
		{false, OperatorRecovered{By: "ann"}},
		{true, ExecutionPaused{By: "01J00000000000000000000000", Message: "m-5", Reason: "the gateway is down"}},
		{false, ExecutionPaused{By: "ann"}},
		{true, ExecutionResumed{By: "01J00000000000000000000000", Reason: "it is up"}},
		{false, ExecutionResumed{By: "ann"}},
		{true, ExecutionCompleted{Result: raw}},
		{false, ExecutionCompleted{Result: null}},
		{true, ExecutionFailed{Error: full}},
		{false, ExecutionFailed{Error: bare}},
		{true, ExecutionCancelled{Error: full}},
		{false, ExecutionCancelled{Error: bare}},
		{true, ExecutionTerminated{Message: "m-3", Reason: "it loops"}},
		{false, ExecutionTerminated{Message: "m-3"}},
	}
}

// TestEveryKindHasSamples holds the list above against the table of kinds and
// against the structs: a new kind, or a new field, needs a sample.
func TestEveryKindHasSamples(t *testing.T) {
	count := map[Kind]int{}
	for _, s := range samples() {
		count[s.p.Kind()]++
		if s.full {
			whole(t, string(s.p.Kind()), reflect.ValueOf(s.p))
		}
	}
	for _, k := range Kinds() {
		if count[k] != 2 {
			t.Errorf("%s has %d samples, want a full and a minimal one", k, count[k])
		}
		if !k.Known() {
			t.Errorf("%s is in the table and not known", k)
		}
		delete(count, k)
	}
	for k := range count {
		t.Errorf("the sample kind %s is not in the table", k)
	}
}

// whole fails if a field of v is zero.
func whole(t *testing.T, at string, v reflect.Value) {
	t.Helper()
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		if v.IsZero() {
			t.Errorf("%s is not set in the full sample", at)
		}
		return
	}
	for i := range v.NumField() {
		whole(t, at+"."+v.Type().Field(i).Name, v.Field(i))
	}
}

// TestAMinimalSampleIsMinimal takes each field out of the minimal samples: none
// decodes any more.
func TestAMinimalSampleIsMinimal(t *testing.T) {
	for _, s := range samples() {
		if s.full {
			continue
		}
		k := s.p.Kind()
		for _, key := range keysOf(t, Encode(s.p)) {
			fields := map[string]json.RawMessage{}
			if err := json.Unmarshal(Encode(s.p), &fields); err != nil {
				t.Fatal(err)
			}
			delete(fields, key)
			less, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := Decode(k, less); err == nil {
				t.Errorf("%s decodes without %q: %+v", k, key, p)
			}
		}
	}
}

// keysOf returns the keys of an object in their order.
func keysOf(t *testing.T, raw []byte) (keys []string) {
	t.Helper()
	if err := object(raw, func(key string, _ []byte) error { keys = append(keys, key); return nil }); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return keys
}
