package kernel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"flag"

	"github.com/loomwork/loom/event"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares text with testdata/name.
func golden(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("got\n%s\n%s holds\n%s", text, name, want)
	}
}

// TestValidNames is the grammar of names, 1 to 64 bytes.
func TestValidNames(t *testing.T) {
	grammar := regexp.MustCompile(`\A[A-Za-z0-9_.:-]{1,64}\z`)
	names := []string{"", "a", "A-z_0.9:", strings.Repeat("x", 64), strings.Repeat("x", 65), "a/b", "a#1", "a b", "é", "a\x00", "@", "\xff", "#", "/"}
	for c := range 256 {
		names = append(names, string([]byte{byte(c)}))
	}
	for _, name := range names {
		if ValidName(name) != grammar.MatchString(name) {
			t.Errorf("ValidName(%q) = %v", name, ValidName(name))
		}
	}
}

// TestPathsAreInjective: valid names and counts come back from their path, so no
// two operations share one.
func TestPathsAreInjective(t *testing.T) {
	const alphabet = "ab0_.:-"
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		path, text := "", []string{}
		for range 1 + rng.IntN(4) {
			name := make([]byte, 1+rng.IntN(3))
			for i := range name {
				name[i] = alphabet[rng.IntN(len(alphabet))]
			}
			n := 1 + rng.IntN(30)
			path = join(path, string(name), n)
			text = append(text, fmt.Sprintf("%s#%d", name, n))
		}
		if got := strings.Split(path, "/"); strings.Join(got, "|") != strings.Join(text, "|") {
			t.Fatalf("%v became %q", text, path)
		}
	}
}

// TestNamesAreCountedWhereTheyAreUsed: each name on its own, in each branch on
// its own, branches and operations alike.
func TestNamesAreCountedWhereTheyAreUsed(t *testing.T) {
	r := start(t, func(b *Branch) End {
		b.Effect("a", &Effect{})
		b.Timer("a", 5, 0)
		b.Effect("b", &Effect{})
		c := branch(b, "a", func(c *Branch) {
			c.Effect("a", &Effect{})
			branch(c, "a", func(d *Branch) { d.Await("a", -1) })
		})
		p, _ := b.Name("a")
		if p != "a#4" || c.Path() != "a#3" {
			t.Errorf("the branch is %s, the name after it %s", c.Path(), p)
		}
		do(b, "a")
		return done
	})
	r.want(`0 EXECUTION_STARTED
		1 EFFECT_SCHEDULED a#1
		2 TIMER_SCHEDULED a#2
		3 EFFECT_SCHEDULED b#1
		4 EFFECT_SCHEDULED a#5
		5 EFFECT_SCHEDULED a#3/a#1
		6 MESSAGE_AWAITED a#3/a#2/a#1 of a`)
}

// TestIdempotencyKeys pins keys and entropy: they are in other people's
// databases. 26 characters, another for each id, seed and path.
func TestIdempotencyKeys(t *testing.T) {
	var b strings.Builder
	seen := map[string]string{}
	add := func(id event.ExecutionID, seed, path string) {
		key := IdempotencyKey(id, seed, path)
		of := fmt.Sprintf("%q %q %q", id, seed, path)
		if was := seen[key]; was != "" {
			t.Errorf("%s is the key of %s and of %s", key, was, of)
		}
		seen[key] = of
		if !regexp.MustCompile(`\A[A-Z2-7]{26}\z`).MatchString(key) {
			t.Errorf("%s: the key is %q", of, key)
		}
		entropy := Entropy(id, seed, path)
		fmt.Fprintf(&b, "%s %s %x\n", of, key, entropy[:8])
		if key == keyText.EncodeToString(entropy[:])[:26] {
			t.Errorf("%s: key and entropy are the same bytes", of)
		}
	}
	add("order-42", "00c0ffee00c0ffee", "charge#1")
	add("order-42", "00c0ffee00c0ffee", "charge#2")
	add("order-42", "00c0ffee00c0ffee", "a#1/charge#1")
	add("order-42", "00c0ffee00c0ffed", "charge#1") // re-created: another seed
	add("order-43", "00c0ffee00c0ffee", "charge#1")
	// the same bytes in a row, cut in other places
	add("ab", "c", "d")
	add("a", "bc", "d")
	add("a", "b", "cd")
	add("abcd", "", "")
	add("", "abcd", "")
	add("", "", "abcd")
	add("", "", "")
	golden(t, "keys.golden", b.String())
}
