package event

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestWhatDoesNotDecode: each of these is refused, for every kind, and the error
// names the event.
func TestWhatDoesNotDecode(t *testing.T) {
	for _, tc := range []struct{ name, raw string }{
		{"nothing", ""},
		{"a blank", " "},
		{"half an object", `{"op":"a#1"`},
		{"a list", `[]`},
		{"a string", `"op"`},
		{"null", `null`},
		{"a number", `7`},
		{"trailing garbage", `{"op":"a#1"} x`},
		{"two objects", `{"op":"a#1"}{}`},
		{"a NUL behind", "{\"op\":\"a#1\"}\x00"},
		{"a trailing comma", `{"op":"a#1",}`},
		{"a comment", `{/**/"op":"a#1"}`},
		{"a key without quotes", `{op:"a#1"}`},
		{"single quotes", `{'op':'a#1'}`},
		{"a raw control character", "{\"op\":\"a\n#1\"}"},
		{"a byte order mark", "\ufeff{}"},
		{"a known key twice", `{"op":"a#1","op":"a#1"}`},
		{"a key twice, spelled differently", `{"op":"a#1","\u006fp":"b#1"}`},
		{"an unknown key twice", `{"op":"a#1","x":1,"x":1}`},
		{"a key that is no text", "{\"\xff\":1}"},
		{"NaN", `{"op":NaN}`},
	} {
		for _, k := range Kinds() {
			p, err := Envelope{Execution: "x", Sequence: 4, Kind: k, Payload: []byte(tc.raw)}.Decode()
			var d *DecodeError
			if !errors.As(err, &d) || p != nil {
				t.Errorf("%s: %s: decoded %+v, %v", k, tc.name, p, err)
				continue
			}
			if d.Execution != "x" || d.Sequence != 4 || d.Kind != k || d.Unwrap() == nil || d.LoomCode() != "undecodable" ||
				!strings.Contains(d.Error(), "x-4") {
				t.Errorf("%s: %s: the error is %+v", k, tc.name, d)
			}
		}
	}
}

// TestWrongTypesAreRefused puts a value of each other type into each field.
func TestWrongTypesAreRefused(t *testing.T) {
	text := []string{`1`, `true`, `null`, `{}`, `["a"]`, "\"\xff\""}
	number := []string{`"1"`, `true`, `null`, `{}`, `[1]`, `1.0`, `1e3`, `0.5`, `9223372036854775808`, `-9223372036854775809`,
		`9007199254740993`, `"9007199254740992"`, `"9223372036854775808"`, `"x"`, `""`}
	list := []string{`"a"`, `1`, `[1]`, `{}`, `[null,{}]`}
	fail := []string{`null`, `"a"`, `[]`, `{}`, `{"message":"m"}`, `{"code":""}`, `{"code":1}`, `{"code":"a","code":"a"}`}
	meta := []string{`null`, `[]`, `"a"`, `{"a":1}`, `{"a":"b","a":"b"}`}
	wrong := map[string][]string{
		"flow": text, "version": text, "seed": text, "op": text, "name": text, "message": text, "cause": text, "reason": text,
		"by": text, "takenFrom": text, "strikes": number, "change": text, "key": text, "request": text,
		"execution": text, "onCancel": text, "status": text,
		"deadline": number, "generation": number, "attempt": number, "notBefore": number, "labels": meta, "error": fail,
	}
	for _, k := range Kinds() {
		full := ""
		for _, s := range samples() {
			if s.full && s.p.Kind() == k {
				full = string(Encode(s.p))
			}
		}
		err := object([]byte(full), func(key string, raw []byte) error {
			wrong := wrong[key]
			if k == KindVersionMarked && key == "version" {
				wrong = number
			}
			for _, w := range wrong {
				bad := strings.Replace(full, fmt.Sprintf("%q:%s", key, raw), fmt.Sprintf("%q:%s", key, w), 1)
				if bad == full {
					t.Fatalf("%s: %s was not replaced in %s", k, key, full)
				}
				if p, err := Decode(k, []byte(bad)); err == nil {
					t.Errorf("%s with %s=%s decoded to %+v", k, key, w, p)
				} else if !strings.Contains(err.Error(), `"`+key+`"`) && !strings.Contains(err.Error(), "JSON") {
					t.Errorf("%s with %s=%s: the error does not name the field: %v", k, key, w, err)
				}
			}
			if len(wrong) == 0 && key != "value" && key != "input" && key != "args" && key != "result" && key != "body" {
				t.Errorf("no wrong values for %s.%s", k, key)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"chain", "stack"} {
		for _, w := range list {
			raw := fmt.Sprintf(`{"error":{"code":"c",%q:%s}}`, key, w)
			if p, err := Decode(KindExecutionFailed, []byte(raw)); err == nil {
				t.Errorf("%s decoded to %+v", raw, p)
			}
		}
	}
}

// TestBigIntegers: what a JSON reader may round is written in quotes, and only
// that. claim H-25
func TestBigIntegers(t *testing.T) {
	for n, want := range map[Time]string{
		1: `1`, -1: `-1`, exact: `9007199254740992`, -exact: `-9007199254740992`,
		exact + 1: `"9007199254740993"`, -exact - 1: `"-9007199254740993"`,
		Never: `"9223372036854775807"`, -Never - 1: `"-9223372036854775808"`,
	} {
		p := TimerScheduled{Op: "a#1", Deadline: n}
		raw := string(Encode(p))
		if raw != `{"op":"a#1","deadline":`+want+`}` {
			t.Errorf("%d: %s", n, raw)
		}
		if back, err := Decode(p.Kind(), []byte(raw)); err != nil || back != Payload(p) {
			t.Errorf("%s: %+v, %v", raw, back, err)
		}
	}
}

// TestDepthIsBounded: a value may be nested 512 deep and no deeper, whichever
// field it stands in, and a longer chain ends in an error, not in a stack.
func TestDepthIsBounded(t *testing.T) {
	for depth, ok := range map[int]bool{1: true, MaxDepth: true, MaxDepth + 1: false, 9_000: false, 11_000: false, 200_000: false} {
		for _, open := range []string{"[", `{"a":`} {
			shut := map[string]string{"[": "]", `{"a":`: "}"}[open]
			deep := strings.Repeat(open, depth) + "1" + strings.Repeat(shut, depth)
			for _, raw := range []string{`{"result":` + deep + `}`, `{"result":1,"x":` + deep + `}`} {
				if _, err := Decode(KindExecutionCompleted, []byte(raw)); (err == nil) != ok {
					t.Errorf("depth %d of %s: %v", depth, open, err)
				}
			}
		}
	}
	wide := `{"result":[` + strings.Repeat("[],", 2*MaxDepth) + `[]]}`
	if _, err := Decode(KindExecutionCompleted, []byte(wide)); err != nil {
		t.Errorf("many lists beside each other: %v", err)
	}
}

// TestDepthIsWhatTheDecoderCounts: what Depth allows decodes and what it does not
// is refused, brackets in text not counted.
func TestDepthIsWhatTheDecoderCounts(t *testing.T) {
	for raw, want := range map[string]int{
		`1`: 0, `"[{"`: 0, `"\\"`: 0, `"\"["`: 0, `[]`: 1, `{}`: 1, `[[],[]]`: 2, `{"[":{"a":["}"]}}`: 3, ` [ 1 , { "\"{" : "\\" } ] `: 2,
		`["\\\"[",[{}]]`: 3,
	} {
		if got := Depth([]byte(raw)); got != want {
			t.Errorf("%s is %d deep, got %d", raw, want, got)
		}
		for _, around := range []int{MaxDepth - want, MaxDepth - want + 1} {
			deep := []byte(strings.Repeat("[", around) + raw + strings.Repeat("]", around))
			_, err := Decode(KindExecutionCompleted, []byte(`{"result":`+string(deep)+`}`))
			if (Depth(deep) <= MaxDepth) != (err == nil) {
				t.Errorf("%s in %d lists: depth %d, %v", raw, around, Depth(deep), err)
			}
		}
	}
}

// TestManyKeysAreNoTrap: an object with a great many keys takes time in
// proportion, and a repeat among them is still found.
func TestManyKeysAreNoTrap(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"result":1`)
	for i := range 50_000 {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	if _, err := Decode(KindExecutionCompleted, []byte(b.String()+"}")); err != nil {
		t.Fatal(err)
	}
	for _, repeat := range []string{"result", "k0", "k14", "k15", "k16", "k49999"} {
		if _, err := Decode(KindExecutionCompleted, []byte(b.String()+`,"`+repeat+`":0}`)); err == nil {
			t.Errorf("%s stands twice and was taken", repeat)
		}
	}
}

// TestBlanksBetweenTokens: JSON from another writer decodes to the same payload.
func TestBlanksBetweenTokens(t *testing.T) {
	raw := " {\n\t\"op\" : \"a\\u00231\" ,\r\n \"attempt\":-0, \"error\" : { \"code\" : \"c\" , \"chain\" : [ \"d\" ] } } \n"
	p, err := Decode(KindEffectFailed, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	f := p.(EffectFailed)
	if f.Op != "a#1" || f.Attempt != 0 || f.Error.Code != "c" || len(f.Error.Chain) != 1 || f.Error.Chain[0] != "d" {
		t.Errorf("decoded %+v", f)
	}
}

// TestDecodedBytesDoNotGrowIntoTheEnvelope: appending to a decoded value does
// not write into the stored payload behind it.
func TestDecodedBytesDoNotGrowIntoTheEnvelope(t *testing.T) {
	raw := []byte(`{"op":"a#1","result":[1]}`)
	p, err := Decode(KindEffectCompleted, raw)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(p.(EffectCompleted).Result, "oops"...)
	if string(raw) != `{"op":"a#1","result":[1]}` {
		t.Errorf("the payload became %s", raw)
	}
}
