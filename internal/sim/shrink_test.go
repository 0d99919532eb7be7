package sim

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// forbidding is a story in which something that is right counts as wrong: a node takes an
// execution over whose intent is open.
func forbidding() *Story {
	return &Story{Open: inMemory, Once: true, Config: drawSmall, Play: func(c *Cluster) {
		c.Play()
		if takenOpen(newSight(c)) {
			c.World.Fail("O99: %s", "an execution was taken over with an open intent")
		}
	}}
}

// A shrinker ends with a small story that breaks the same rule, the same each time, and
// what it writes into a file breaks it too.
func TestShrinkingKeepsTheRule(t *testing.T) {
	s, seed := forbidding(), uint64(1)
	for ; ; seed++ {
		if o, err := s.run(&Script{Seed: seed}, nil); err != nil {
			t.Fatal(err)
		} else if slices.Equal(o.Rules(), []string{"O99"}) {
			break
		}
	}
	small, err := s.Shrink(&Script{Seed: seed}, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d, %v", seed, small)
	from, to := small.From.Size(), small.To.Size()
	if to.Nodes > 2 || to.Executions > 2 || to.Steps > from.Steps || small.Runs > 200 {
		t.Errorf("it is still large: %v", small)
	}
	again, err := s.Shrink(&Script{Seed: seed}, "O99", 200)
	if err != nil || again.To.Cluster.World.Digest() != small.To.Cluster.World.Digest() || again.Runs != small.Runs {
		t.Errorf("shrunk once more: %v, %v", again, err)
	}
	few, err := s.Shrink(&Script{Seed: seed}, "", 7)
	if err != nil || few.Runs > 7 || !few.Cut {
		t.Errorf("with 7 runs: %v, %v", few, err)
	}
	saved := small.To.Save()
	saved.Story, saved.Rule, saved.From = "it", small.Rule, from
	name := filepath.Join(t.TempDir(), "it.dec")
	if err := os.WriteFile(name, []byte(saved.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	read, err := Load(name)
	if err != nil || !reflect.DeepEqual(read, saved) {
		t.Fatalf("%v\nread %+v\nsaved %+v", err, read, saved)
	}
	o, err := s.run(read.Script(), nil)
	if err != nil || !slices.Equal(o.Rules(), []string{"O99"}) {
		t.Fatalf("the file breaks %v, %v", o.Rules(), err)
	}
	if why := read.Stale(o.Cluster.World, 1<<30); why != "" {
		t.Error(why)
	}
	read.Decisions[len(read.Decisions)-1].Site = "another question"
	if why := read.Stale(o.Cluster.World, 1<<30); !strings.Contains(why, "another question") {
		t.Errorf("a list of other questions is taken for the same: %q", why)
	}
	if _, err := s.Shrink(&Script{Seed: seed}, "O5", 10); err == nil {
		t.Error("a rule that was not broken is shrunk")
	}
}

func TestScriptsThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{"seed x", "what is this", "3 1/2", "3 2/2 full", "3 0/2 nothing", "3 1/2 a\n3 1/2 a", "acts many", "from here"} {
		name := filepath.Join(t.TempDir(), "it.dec")
		if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if s, err := Load(name); err == nil {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}

func TestFailuresHaveRules(t *testing.T) {
	for format, want := range map[string]string{
		"O19: not at rest after %v": "O19", "panic in %s: %v": "panic in", "no progress: %d steps": "no progress", "%s warns of %s: %v": "warns of",
	} { // order does not matter: each is looked at alone
		if got := ruleOf(format); got != want {
			t.Errorf("the rule of %q is %q, want %q", format, got, want)
		}
	}
}
