package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// digestSeeds is how many seeds have their digests checked in.
const digestSeeds = 24

// stack is where a panic's place is recorded: with line numbers, which move with every
// edit, of the standard library's files too.
var stack = regexp.MustCompile(`"stack":\[("(\\.|[^"\\])*",?)*\]`)

// fingerprint is a digest of all decisions of a run and of its logs, stacks aside: what
// has to be the same on every machine, with any number of processors, and with the race
// detector on.
func fingerprint(o *Outcome) string {
	h := sha256.New()
	for _, c := range o.Cluster.World.choices {
		h.Write(binary.AppendUvarint(nil, uint64(c)))
	}
	for _, l := range o.Cluster.History.lives() {
		fmt.Fprintf(h, "%s %s %d\n", l.id, l.anchor, len(l.log))
		for _, e := range l.log {
			fmt.Fprintf(h, "%d %d %s %q %q\n", e.Sequence, e.Time, e.Kind, stack.ReplaceAll(e.Payload, nil), e.Meta)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// TestSimDigests: oracle O20 across machines. The logs of some seeds, and all that was
// decided on the way, are what they were when the digests were checked in. A change of the
// stories or of the kernel changes them on purpose: then run the test with -update, and
// say in the commit why. That two runs differ on one machine is another matter, and
// TestSimCluster's.
func TestSimDigests(t *testing.T) {
	name := filepath.Join("testdata", "digests.golden")
	var got strings.Builder
	s := &Story{Open: inMemory, Once: true}
	for seed := range uint64(digestSeeds) {
		o := story(t, s, &Script{Seed: seed + 1})
		fmt.Fprintf(&got, "%d %s %d decisions\n", seed+1, fingerprint(o), len(o.Cluster.World.choices))
	}
	if *update {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() == string(want) {
		return
	}
	a, b := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("got %s, checked in is %s", a[i], b[i])
		}
	}
	t.Error("if that is on purpose: go test ./internal/sim -run SimDigests -update")
}
