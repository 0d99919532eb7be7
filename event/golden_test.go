package event

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// goldenBytes reads testdata/samples-*.golden: one payload a line, "KIND name
// bytes". There is a file for each schema version, and every build reads all of
// them.
func goldenBytes(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "samples-*.golden"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden samples: %v", err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "samples-"), ".golden")
		for line := range bytes.Lines(text) {
			parts := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(" "), 3)
			if len(parts) != 3 {
				t.Fatalf("%s: not a sample: %q", name, line)
			}
			all[fmt.Sprintf("%s %s %s", version, parts[0], parts[1])] = parts[2]
		}
	}
	return all
}

// TestGoldenBytesOfThisVersion: what this build encodes is what the golden file
// of its version holds. case 74
func TestGoldenBytesOfThisVersion(t *testing.T) {
	var b bytes.Buffer
	for _, s := range samples() {
		fmt.Fprintf(&b, "%s %s %s\n", s.p.Kind(), s.name(), Encode(s.p))
	}
	name := filepath.Join("testdata", "samples-"+SchemaVersion+".golden")
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := bytes.Split(b.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	if len(got) != len(wanted) {
		t.Fatalf("%d lines, the golden file has %d", len(got), len(wanted))
	}
	for i := range got {
		if !bytes.Equal(got[i], wanted[i]) {
			t.Errorf("recorded bytes changed:\n got %s\nwant %s", got[i], wanted[i])
		}
	}
}

// TestBytesInSameBytesOut: the samples of every version decode, encode to the
// bytes they came from, and decode to the values they were made of. case 74
func TestBytesInSameBytesOut(t *testing.T) {
	values := map[string]Payload{}
	for _, s := range samples() {
		values[fmt.Sprintf("%s %s %s", SchemaVersion, s.p.Kind(), s.name())] = s.p
	}
	all := goldenBytes(t)
	for name, raw := range all {
		p, err := Decode(Kind(strings.Fields(name)[1]), raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := Encode(p); !bytes.Equal(got, raw) {
			t.Errorf("%s: encodes to\n%s, it was\n%s", name, got, raw)
		}
		if want, ok := values[name]; ok && !reflect.DeepEqual(p, want) {
			t.Errorf("%s: decoded %+v, want %+v", name, p, want)
		}
	}
	if len(all) < len(values) {
		t.Errorf("%d golden samples for %d values", len(all), len(values))
	}
}

// TestUnknownKindsAreKept: a kind of a newer build keeps its bytes, JSON or not.
func TestUnknownKindsAreKept(t *testing.T) {
	for _, raw := range []string{"", "{}", `{"a":1,"a":2}`, "\x00\xff", strings.Repeat("[", 2000)} {
		p, err := Decode("FROM_THE_FUTURE", []byte(raw))
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		u, ok := p.(Unknown)
		if !ok || p.Kind() != "FROM_THE_FUTURE" || string(u.Raw) != raw || string(Encode(p)) != raw {
			t.Errorf("%q became %+v", raw, p)
		}
		e := New("x", 3, 5, p, nil)
		if e.Kind != "FROM_THE_FUTURE" || string(e.Payload) != raw {
			t.Errorf("%q in an envelope became %+v", raw, e)
		}
	}
}

// TestUnknownFieldsStayInTheEnvelope: a field of a newer build is no error, and
// whoever carries the envelope carries it.
func TestUnknownFieldsStayInTheEnvelope(t *testing.T) {
	for _, s := range samples() {
		raw := Encode(s.p)
		more := append(append(append([]byte{}, raw[:len(raw)-1]...), `,"sinceTomorrow":{"x":[1,2]}`...), '}')
		e := Envelope{Execution: "x", Sequence: 1, Kind: s.p.Kind(), Payload: more}
		p, err := e.Decode()
		if err != nil {
			t.Errorf("%s: %v", s.p.Kind(), err)
			continue
		}
		if !reflect.DeepEqual(p, s.p) {
			t.Errorf("%s: decoded %+v, want %+v", s.p.Kind(), p, s.p)
		}
		if !bytes.Contains(e.Payload, []byte("sinceTomorrow")) {
			t.Errorf("%s: the envelope lost the field", s.p.Kind())
		}
	}
}

// TestRawValuesPassByteForByte puts every trap of a canonical form through a
// user's value: it comes back as it was. claim H-25
func TestRawValuesPassByteForByte(t *testing.T) {
	for _, raw := range []string{
		`1e21`, `1E+2`, `-0`, `0.1`, `0.30000000000000004`, `9007199254740993`, `123456789012345678901234567890`,
		`"<>&"`, `"\u003c\u003e\u0026"`, "\"\u2028\u2029\"", `"\u2028"`, `"\ud800"`, `"\udc00\ud800"`, `"\u0000"`, `"\/"`, `"é"`, `"\u00e9"`,
		`{"9":1,"10":2}`, `{"10":2,"9":1}`, `{ "a" : [ 1 , 2 ] }`, `{"a":1,"a":2}`, `null`, `""`, `[]`, `{}`, "[\n\t1\n]", trap,
	} {
		for _, p := range []Payload{
			ExecutionStarted{Flow: "f", Input: []byte(raw), Seed: "1"}, EffectScheduled{Op: "a#1", Args: []byte(raw)},
			EffectCompleted{Op: "a#1", Result: []byte(raw)}, MessageReceived{Op: "a#1", Name: "a", Message: "m", Body: []byte(raw)},
			ExecutionCompleted{Result: []byte(raw)},
		} {
			enc := Encode(p)
			if !bytes.Contains(enc, []byte(":"+raw)) {
				t.Errorf("%s: %s is not in %s", p.Kind(), raw, enc)
			}
			back, err := Decode(p.Kind(), enc)
			if err != nil {
				t.Errorf("%s: %s: %v", p.Kind(), enc, err)
			} else if !reflect.DeepEqual(back, p) || !bytes.Equal(Encode(back), enc) {
				t.Errorf("%s: %+v came back as %+v", p.Kind(), p, back)
			}
		}
	}
}
