package sim

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// update renews the files under testdata that the tests of this package make.
var update = flag.Bool("update", false, "write the files under testdata anew")

// corpusStory is the story of a saved script, nil if there is none of this name.
func corpusStory(name string) *Story {
	s := &Story{Open: inMemory, Once: true, MaxSteps: 60_000}
	switch name {
	case "TestSimCluster":
	case "TestSimFamily":
		s.Config = DrawFamily
	case "TestSimRich":
		s.Config = DrawRich
	case "FuzzSim":
		s.Config = drawSmall
	default:
		for _, r := range Races() {
			if "TestSimRaces/"+shortName(r.Name) == name {
				s = r.Story(inMemory)
				s.Once = true
				return s
			}
		}
		return nil
	}
	return s
}

// corpus is every script under testdata, by the name of its file.
func corpus(t *testing.T) (names []string, all map[string]*Saved) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*.dec"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts under testdata: %v", err)
	}
	all = map[string]*Saved{}
	for _, name := range names {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if corpusStory(s.Story) == nil {
			t.Fatalf("%s: no story is named %q", name, s.Story)
		}
		if at, err := os.Stat(name); err != nil || at.Size() > 4096 {
			t.Errorf("%s is over 4 kB: %v", name, err)
		}
		all[name] = s
	}
	return names, all
}

// TestSimCorpus plays what failed once: each seed and each script passes by now, twice
// and alike. A script that was shrunk under a planted defect passes without it.
func TestSimCorpus(t *testing.T) {
	names, all := corpus(t)
	for _, name := range names {
		saved := all[name]
		story := corpusStory(saved.Story)
		story.Once = false
		o, err := story.play(saved.Script(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Error(); err != nil {
			t.Errorf("%s fails again (it found %q): %v", name, saved.Note, err)
		}
		// What comes before the first act is asked of no code but this package's.
		if why := saved.Stale(o.Cluster.World, o.Cluster.drawn); why != "" {
			t.Errorf("%s means nothing any more: %s. If the stories have changed on purpose, run: make corpus", name, why)
		}
		if s := saved.String(); len(saved.Decisions) > 0 && saved.Defect == "" && saved.Note == "" {
			t.Errorf("%s says neither what defect it shows nor, in a note, what it found:\n%s", name, s)
		}
	}
	t.Logf("tally: corpus=%d", len(names))
}
