package event

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// standard is what encoding/json writes for s without HTML escapes, but for the
// one difference on purpose: it escapes U+2028 and U+2029 always, and this
// package never does, as RFC 8785 has it.
func standard(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	var out strings.Builder
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && (strings.HasPrefix(text[i:], `\u2028`) || strings.HasPrefix(text[i:], `\u2029`)):
			out.WriteString(map[byte]string{'8': "\u2028", '9': "\u2029"}[text[i+5]])
			i += 6
		case text[i] == '\\':
			out.WriteString(text[i : i+2])
			i += 2
		default:
			out.WriteByte(text[i])
			i++
		}
	}
	return out.String()
}

// interesting are the runes at which encoders differ.
var interesting = []rune{0, 1, 7, 8, 9, 10, 11, 12, 13, 0x1f, ' ', '"', '\\', '/', '<', '>', '&', '\'', 0x7e, 0x7f, 0x80, 0x9f,
	0xe9, 0x7ff, 0x800, 0x2027, 0x2028, 0x2029, 0x202a, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x1f600, 0x10ffff}

// TestStringsAreThoseOfTheStandardLibrary: over random valid UTF-8, bytes equal
// to those of encoding/json but for the named difference, and back again.
func TestStringsAreThoseOfTheStandardLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(s string) {
		t.Helper()
		got := string(appendString(nil, s))
		if want := standard(t, s); got != want {
			t.Fatalf("%q: encoded as %s, the standard library has %s", s, got, want)
		}
		back, err := unquote([]byte(got))
		if err != nil || back != s {
			t.Fatalf("%s: decoded as %q, %v; want %q", got, back, err, s)
		}
	}
	for r := rune(0); r < 0x3000; r++ {
		check(string(r))
	}
	for _, r := range interesting {
		check("a" + string(r) + string(r) + "b")
	}
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(24) {
			switch rng.IntN(3) {
			case 0:
				b.WriteRune(interesting[rng.IntN(len(interesting))])
			case 1:
				b.WriteByte(byte('a' + rng.IntN(26)))
			default:
				r := rune(rng.IntN(utf8.MaxRune + 1))
				if !utf8.ValidRune(r) {
					r = utf8.RuneError
				}
				b.WriteRune(r)
			}
		}
		check(b.String())
	}
}

// TestStringsThatAreNoText: each wrong byte becomes U+FFFD, and what is written
// is valid UTF-8 and valid JSON whatever came in.
func TestStringsThatAreNoText(t *testing.T) {
	for in, want := range map[string]string{
		"\xff":         "\"\uFFFD\"",
		"a\xc3":        "\"a\uFFFD\"",
		"\xed\xa0\x80": "\"\uFFFD\uFFFD\uFFFD\"", // a surrogate in UTF-8
		"\xc0\x80":     "\"\uFFFD\uFFFD\"",       // NUL, too long
		"é\xffé":       "\"é\uFFFDé\"",
	} {
		if got := string(appendString(nil, in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		in := make([]byte, rng.IntN(16))
		for i := range in {
			in[i] = byte(rng.UintN(256))
		}
		out := appendString(nil, string(in))
		if !utf8.Valid(out) || !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
	}
}

// TestStringsAreAppended: the encoder leaves what stands before alone.
func TestStringsAreAppended(t *testing.T) {
	if got := string(appendString([]byte("x"), "y")); got != `x"y"` {
		t.Errorf("got %s", got)
	}
}
