package event

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"testing"
)

// TestMetaIsCanonical: keys by their bytes, no blanks, the escapes of strings,
// nothing for nothing. claim H-25
func TestMetaIsCanonical(t *testing.T) {
	for _, tc := range []struct {
		m    map[string]string
		want string
	}{
		{nil, ""}, {map[string]string{}, ""},
		{map[string]string{"fence": "7"}, `{"fence":"7"}`},
		{map[string]string{"9": "a", "10": "b", "1": "c"}, `{"1":"c","10":"b","9":"a"}`},
		{map[string]string{"b": "", "a": "<>&\u2028\x00\"\\", "A": "é", "": "x", "é": "y", "z": "z"},
			`{"":"x","A":"é","a":"<>&` + "\u2028" + `\u0000\"\\","b":"","z":"z","é":"y"}`},
	} {
		got := EncodeMeta(tc.m)
		if string(got) != tc.want {
			t.Errorf("%v: %s, want %s", tc.m, got, tc.want)
		}
		back, err := DecodeMeta(got)
		if err != nil || !maps.Equal(back, tc.m) {
			t.Errorf("%s came back as %v, %v", got, back, err)
		}
	}
}

// TestMetaDoesNotDependOnMapOrder encodes one map many times, built anew in
// another order each time.
func TestMetaDoesNotDependOnMapOrder(t *testing.T) {
	keys := []string{"a", "b", "c", "10", "9", "fence", "é", "", "a.b", "Z", "ab", "a-", "a:"}
	rng := rand.New(rand.NewPCG(9, 10))
	var first []byte
	for range 200 {
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		m := map[string]string{}
		for _, k := range keys {
			m[k] = "v" + k
		}
		enc := EncodeMeta(m)
		if first == nil {
			first = enc
		}
		if !bytes.Equal(first, enc) {
			t.Fatalf("%s and %s", first, enc)
		}
	}
}

// TestMetaRefuses what is no flat object of strings.
func TestMetaRefuses(t *testing.T) {
	for _, raw := range []string{" ", "null", "[]", `{"a":1}`, `{"a":null}`, `{"a":{}}`, `{"a":"b","a":"b"}`, `{"a":"b"}x`, "{\"a\":\"\xff\"}"} {
		if m, err := DecodeMeta([]byte(raw)); err == nil || m != nil {
			t.Errorf("%q: %v, %v", raw, m, err)
		}
	}
	if m, err := DecodeMeta([]byte("{}")); err != nil || m == nil || len(m) != 0 {
		t.Errorf("{}: %v, %v", m, err)
	}
}

// TestReservedMeta are Loom's own keys, and those alone.
func TestReservedMeta(t *testing.T) {
	for key, want := range map[string]bool{"fence": true, "parent": true, "target": true, "Fence": false, "fences": false, "": false, "trace": false} {
		if ReservedMeta(key) != want {
			t.Errorf("ReservedMeta(%q) = %v", key, !want)
		}
	}
}

// TestEnvelopesAreComparedByteForByte changes each field in turn.
func TestEnvelopesAreComparedByteForByte(t *testing.T) {
	base := New("x", 3, 17, TimerFired{Op: "a#1"}, []byte(`{"fence":"2"}`))
	if !base.Equal(base) || base.ID() != "x-3" || base.Size() < len(base.Payload)+len(base.Meta) {
		t.Errorf("base: %+v", base)
	}
	other := []Envelope{base, base, base, base, base, base}
	other[0].Execution = "y"
	other[1].Sequence = 4
	other[2].Kind = KindEffectCompleted
	other[3].Time = 18
	other[4].Payload = []byte(`{"op":"a#1" }`)
	other[5].Meta = nil
	for i, o := range other {
		if base.Equal(o) || o.Equal(base) {
			t.Errorf("%d: %+v equals %+v", i, o, base)
		}
	}
}
