//go:build loomsabotage

package sim

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loomwork/loom/internal/sabotage"
)

// shrinkRuns is how many runs a shrinker gets for a script of the corpus.
const shrinkRuns = 3000

// TestEveryDefectOfTheCorpusIsKilled switches on the defect that each script names: it
// breaks the same rule, asked the same questions. With -update it looks for a seed for
// each defect, shrinks it and writes the file.
func TestEveryDefectOfTheCorpusIsKilled(t *testing.T) {
	defer sabotage.Set("")
	if *update {
		for _, d := range sabotage.Defects() {
			renew(t, d)
		}
		return
	}
	names, all := corpus(t)
	small, shown := 0, 0
	for _, name := range names {
		saved := all[name]
		if saved.Defect == "" {
			continue
		}
		sabotage.Set(saved.Defect)
		o, err := corpusStory(saved.Story).play(saved.Script(), nil)
		if err != nil {
			t.Fatal(err)
		}
		why := saved.Stale(o.Cluster.World, len(o.Cluster.World.choices)+1)
		if rules := o.Rules(); !slices.Contains(rules, saved.Rule) {
			t.Errorf("%s no longer kills %s: want %s broken, got %v. %s. Renew it with: make corpus", name, saved.Defect, saved.Rule, rules, why)
		}
		shown++
		if s := o.Size(); s.Nodes <= 2 && s.Executions <= 3 && s.Steps <= 60 {
			small++
		}
	}
	t.Logf("%d scripts kill their defects; %d of them with at most 2 nodes, 3 executions and 60 steps before quiet", shown, small)
	t.Logf("tally: defects_in_corpus=%d", shown)
}

// renew writes the script of a defect, if random stories find it.
func renew(t *testing.T, d sabotage.Defect) {
	name := filepath.Join("testdata", "defect-"+d.Name+".dec")
	sabotage.Set(d.Name)
	s := corpusStory("TestSimCluster")
	for seed := uint64(1); seed <= 1000; seed++ {
		o, err := s.run(&Script{Seed: seed}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.Well() {
			continue
		}
		small, err := s.Shrink(&Script{Seed: seed}, "", shrinkRuns)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: seed %d, %v", d.Name, seed, small)
		saved := small.To.Save()
		saved.Story, saved.Defect, saved.Rule, saved.From = "TestSimCluster", d.Name, small.Rule, small.From.Size()
		if err := os.WriteFile(name, []byte(saved.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Logf("%s: no seed finds it", d.Name)
	os.Remove(name)
}
