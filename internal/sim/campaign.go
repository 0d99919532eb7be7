package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/store"
)

// Open opens an empty store on a world's clock; done, which may be nil, gives up what
// it holds.
type Open func(w *World) (backend store.Store, done func(), err error)

// Story is what is run for a seed.
type Story struct {
	Open Open
	// Test is the pattern of the test that runs it, and Place what else the command
	// that replays a failure has to say; "" for nothing.
	Test, Place string
	// Config draws the configuration; nil for [Draw].
	Config func(w *World) Config
	// Play is the world's main function; nil for [Cluster.Play].
	Play func(c *Cluster)
	// Directed says that Play does the same whatever the seed, so that one run tells how
	// long it is.
	Directed bool
	// Once says to run each seed once, and not twice.
	Once bool
	// Part says that a volume runs one in so many of the seeds that it is asked for; 0 for
	// all.
	Part int
	// Policy of the scheduler, and how many steps a run may take, as in [Options].
	Policy   Policy
	MaxSteps int64
	Verbose  func(line string)

	length int64 // of a directed story, 0: not measured yet
}

// Seed runs one seed, twice, and judges it. The error says how to run it again.
func (s *Story) Seed(seed uint64) (*Cluster, error) {
	o, err := s.play(&Script{Seed: seed}, s.Verbose)
	if err != nil {
		return nil, err
	}
	return o.Cluster, o.Error()
}

// Agree is oracle O21: a seed gives the same decisions and the same logs over two
// backends.
func Agree(a, b *Story, seed uint64) error {
	var runs [2]*Outcome
	for i, s := range []*Story{a, b} {
		o, err := s.run(&Script{Seed: seed}, nil)
		if err == nil && o.Failure != nil {
			err = o.Failure
		}
		if err != nil {
			return err
		}
		runs[i] = o
	}
	if vs := alike(runs[0].both(), runs[1].both()); len(vs) > 0 {
		return fmt.Errorf("O21: seed %d: %v", seed, vs)
	}
	return nil
}

// Replay is the command that runs a seed again.
func (s *Story) Replay(seed uint64) string {
	text := fmt.Sprintf("make sim SEED=%d", seed)
	if s.Test != "" {
		text += " RUN=" + s.Test
	}
	if s.Place != "" {
		text = "LOOM_SIM_PLACE=" + s.Place + " " + text
	}
	return text
}

// Campaign runs seeds until its share, in parts of a hundred, of the package's budget
// is spent: LOOM_SIM_SECONDS, 5 if it is not set. With LOOM_SIM_SEEDS set it runs so many,
// see [Story.Volume]. With LOOM_SIM_SEED set it runs that one, and tells all. What it did
// is printed; a rare state that so many seeds reach often, and that they did not, is a
// failure.
func (s *Story) Campaign(t *testing.T, share int) {
	t.Helper()
	if s.one(t) {
		return
	}
	if n := volume(); n > 0 {
		s.Volume(t, n/max(s.Part, 1))
		return
	}
	end := time.Now().Add(Budget() * time.Duration(share) / 100)
	counts := &Counts{}
	for seed := First(); time.Now().Before(end) && !t.Failed(); seed++ {
		o, err := s.play(&Script{Seed: seed}, nil)
		if err == nil {
			counts.Add(o)
			err = o.Error()
		}
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	t.Logf("%s", counts.Text())
	for _, name := range counts.Missed(false) {
		t.Errorf("never reached: %s", name)
	}
	t.Logf("tally: seeds=%d", counts.seeds)
}

// Seeds runs n seeds, or with LOOM_SIM_SEED the one.
func (s *Story) Seeds(t *testing.T, n int) {
	t.Helper()
	if s.one(t) {
		return
	}
	for seed := range uint64(n) {
		if _, err := s.Seed(seed + 1); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("tally: seeds=%d", n)
}

// shortName is what tells a race's test from all others: its number, if it has one.
func shortName(name string) string {
	id, _, numbered := strings.Cut(name, ":")
	if numbered {
		id += ":"
	}
	return strings.ReplaceAll(id, " ", "_")
}

// one runs the seed of LOOM_SIM_SEED, and tells all; false if none is set.
func (s *Story) one(t *testing.T) bool {
	t.Helper()
	s.Test, _, _ = strings.Cut(t.Name(), "_")
	if name, rest, ok := strings.Cut(t.Name(), "/"); ok {
		s.Test = name + "/" + shortName(rest)
	}
	text := os.Getenv("LOOM_SIM_SEED")
	if text == "" {
		return false
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	s.Verbose = func(line string) { fmt.Println(line) }
	if _, err := s.Seed(seed); err != nil {
		if os.Getenv("LOOM_SIM_SHRINK") != "" {
			s.shrink(t, seed)
		}
		t.Fatal(err)
	}
	return true
}

// keepRuns is how many runs a shrinker gets for a seed that somebody asks it to shrink.
const keepRuns = 5000

// shrink shrinks a seed that failed and writes the script under testdata, where the
// corpus has it from now on: it stays red until what it found is repaired.
func (s *Story) shrink(t *testing.T, seed uint64) {
	t.Helper()
	small, err := s.Shrink(&Script{Seed: seed}, "", keepRuns)
	if err != nil {
		t.Errorf("shrinking seed %d: %v", seed, err)
		return
	}
	t.Logf("shrunk: %v", small)
	t.Logf("what is left of it: %v", small.To.Error())
	if s.Place != "" {
		t.Log("a place of a sweep is not kept in the corpus")
		return
	}
	saved := small.To.Save()
	saved.Story, saved.Rule, saved.From = s.Test, small.Rule, small.From.Size()
	saved.Note = fmt.Sprintf("%s, in seed %d", small.Rule, seed)
	name := filepath.Join("testdata", fmt.Sprintf("%s-%d.dec", strings.ToLower(strings.Trim(strings.ReplaceAll(s.Test, "/", "-"), ":")), seed))
	if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(name, []byte(saved.String()), 0o644)); err != nil {
		t.Error(err)
		return
	}
	t.Logf("written: %s", name)
}

// Budget is how long the simulations of a package may take.
func Budget() time.Duration {
	if n, err := strconv.Atoi(os.Getenv("LOOM_SIM_SECONDS")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return 5 * time.Second
}

// First is the first seed of a campaign: LOOM_SIM_FROM, 1 if it is not set.
func First() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("LOOM_SIM_FROM"), 0, 64); err == nil {
		return n
	}
	return 1
}
