package event

import (
	"bytes"
	"errors"
	"maps"
	"testing"
)

// FuzzDecode: whatever the bytes, decoding every kind gives a payload or an
// error and never panics; what decodes encodes to bytes that decode to
// themselves, and a full circle changes nothing more. claim H-25
func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		f.Add(string(s.p.Kind()), Encode(s.p))
	}
	f.Add("FROM_THE_FUTURE", []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		for _, k := range append(Kinds(), Kind(kind)) {
			before := bytes.Clone(raw)
			p, err := Decode(k, raw)
			if !bytes.Equal(before, raw) {
				t.Fatalf("%s: decoding changed its input", k)
			}
			if err != nil {
				if !k.Known() {
					t.Fatalf("%s is unknown and does not decode: %v", k, err)
				}
				continue
			}
			once := Encode(p)
			q, err := Decode(k, once)
			if err != nil {
				t.Fatalf("%s: %q decoded, encoded to %q, and that does not decode: %v", k, raw, once, err)
			}
			if twice := Encode(q); !bytes.Equal(once, twice) {
				t.Fatalf("%s: no fixpoint: %q then %q", k, once, twice)
			}
			if p.Kind() != k || q.Kind() != k {
				t.Fatalf("%s became %s and %s", k, p.Kind(), q.Kind())
			}
		}
	})
}

// FuzzMeta: what decodes has one canonical form.
func FuzzMeta(f *testing.F) {
	for _, s := range []string{"", "{}", `{"fence":"1"}`, `{"9":"a","10":"b"}`, `{"a":"\ud800"}`, `{"\u0061":"b"}`, "{\"a\":\"\xff\"}", `{"a":"b","a":"c"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := DecodeMeta(raw)
		if err != nil {
			return
		}
		enc := EncodeMeta(m)
		back, err := DecodeMeta(enc)
		if err != nil || !maps.Equal(m, back) {
			t.Fatalf("%q decoded to %q, and back to %q: %v", raw, m, back, err)
		}
		if again := EncodeMeta(back); !bytes.Equal(enc, again) {
			t.Fatalf("no canonical form: %q and %q", enc, again)
		}
	})
}

// FuzzID: Validate is the grammar, and its errors are typed. claim H-24
func FuzzID(f *testing.F) {
	for _, s := range []string{"", "order-42", "t/x", "nightly@2026", "é", "a b", "\x00", "0:a-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id := ExecutionID(s)
		err, chosen := id.Validate(), id.ValidateChosen()
		if (err == nil) != grammar.MatchString(s) {
			t.Fatalf("Validate(%q) = %v", s, err)
		}
		if err != nil && chosen == nil {
			t.Fatalf("%q may be chosen and is not valid", s)
		}
		var typed *IDError
		for _, e := range []error{err, chosen} {
			if e != nil && (!errors.As(e, &typed) || len(e.Error()) > 1024) {
				t.Fatalf("%q: the error is %v", s, e)
			}
		}
	})
}
