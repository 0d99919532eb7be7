package event

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var grammar = regexp.MustCompile(`\A[A-Za-z0-9_.:+@/-]{1,200}\z`)

// TestIDGrammar: an ASCII subset, 1 to 200 bytes, separators reserved.
// claim H-24
func TestIDGrammar(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "0": true, "-": true, "--1": true, ".": true, "..": true, "order-42": true, "A_b.C:d+e-9": true,
		strings.Repeat("x", 200): true, "01ARZ3NDEKTSV4RRFFQ69G5FAV": true, "1700000000000000:x-0": true,
		"": false, strings.Repeat("x", 201): false, " ": false, "a b": false, "a\x00": false, "a\n": false, "é": false,
		"\u0430": false /* Cyrillic a */, "\u212a": false /* Kelvin */, "a%": false, "a#1": false, "a\\b": false, "a'b": false,
		`a"b`: false, "a*": false, "a,b": false, "a?b": false, "a=b": false, "~": false, "\xff": false, "a\u200bb": false,
	} {
		err := ExecutionID(id).Validate()
		if (err == nil) != ok || grammar.MatchString(id) != ok {
			t.Errorf("Validate(%q) = %v", id, err)
		}
		chosen := ExecutionID(id).ValidateChosen()
		if (chosen == nil) != ok {
			t.Errorf("ValidateChosen(%q) = %v", id, chosen)
		}
		var typed *IDError
		if err != nil && (!errors.As(err, &typed) || len(typed.ID) > 64 || typed.Reason == "" || typed.LoomCode() != "invalid_id") {
			t.Errorf("%q: the error is %#v", id, err)
		}
	}
	for _, id := range []ExecutionID{"t/x", "nightly@2026-01-01T00:00:00Z", "@", "/", "a/b@c"} {
		if err := id.Validate(); err != nil {
			t.Errorf("Validate(%q) = %v: Loom makes such ids itself", id, err)
		}
		if err := id.ValidateChosen(); err == nil || !strings.Contains(err.Error(), "reserved separator") {
			t.Errorf("ValidateChosen(%q) = %v", id, err)
		}
	}
}

// TestCompositesAreInjective: each composite decodes to the one pair it was made
// of, so no two pairs spell the same. A million pairs each, from an alphabet of the
// characters that could collide. claim H-24
func TestCompositesAreInjective(t *testing.T) {
	pairs := 1_000_000
	if testing.Short() {
		pairs = 100_000
	}
	rng := rand.New(rand.NewPCG(5, 6))
	word := func(alphabet string, most int) string {
		b := make([]byte, 1+rng.IntN(most))
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(b)
	}
	t.Run("execution and sequence", func(t *testing.T) {
		for range pairs {
			id, seq := ExecutionID(word("01-:@/", 5)), Seq(rng.IntN(1200))
			full := EnvelopeID(id, seq)
			at := strings.LastIndexByte(full, '-') // decodes by its last dash
			if full[:at] != string(id) || full[at+1:] != strconv.Itoa(int(seq)) {
				t.Fatalf("%q does not decode to %q and %d", full, id, seq)
			}
		}
	})
	for _, sep := range []string{"@", "/"} {
		t.Run("chosen id and what follows "+sep, func(t *testing.T) {
			for range pairs {
				// a chosen id holds no separator: that is what makes it injective
				pair := [2]string{word("a-:1", 4), word("a-:1"+Separators, 4)}
				if err := ExecutionID(pair[0]).ValidateChosen(); err != nil {
					t.Fatal(err)
				}
				full := pair[0] + sep + pair[1]
				if id, rest, _ := strings.Cut(full, sep); id != pair[0] || rest != pair[1] {
					t.Fatalf("%q does not decode to %q", full, pair)
				}
			}
		})
	}
}

// TestIDsDifferByCase: nothing folds case, so two ids that differ in it are two.
func TestIDsDifferByCase(t *testing.T) {
	if EnvelopeID("Order", 0) == EnvelopeID("order", 0) {
		t.Error("case was folded")
	}
	if got := EnvelopeID("order-42", None); got != "order-42--1" {
		t.Errorf("before the first: %q", got)
	}
	if got := (Envelope{Execution: "a", Sequence: 1 << 40}).ID(); got != "a-1099511627776" {
		t.Errorf("ID() = %q", got)
	}
}
