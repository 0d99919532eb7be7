//go:build loomsabotage

package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loomwork/loom/internal/sabotage"
)

// shrinkRuns is how many runs a shrinker gets for a script of the corpus.
const shrinkRuns = 3000

// TestEveryDefectOfTheCorpusIsKilled switches on the defect that each script names: it
// breaks the same rule. With -update it looks for a seed for each defect whose script is
// missing or no longer kills it, shrinks that and writes the file.
func TestEveryDefectOfTheCorpusIsKilled(t *testing.T) {
	defer sabotage.Set("")
	if *update {
		for _, d := range sabotage.Defects() {
			if saved, err := Load(scriptOf(d)); err == nil {
				if _, why := killed(t, saved); why == "" {
					continue
				}
			}
			renew(t, d)
		}
	}
	names, all := corpus(t)
	small, shown := 0, 0
	for _, name := range names {
		saved := all[name]
		if saved.Defect == "" {
			continue
		}
		s, why := killed(t, saved)
		if why != "" {
			t.Errorf("%s no longer kills %s: %s. Renew it with: make corpus", name, saved.Defect, why)
		}
		shown++
		if s.Nodes <= 2 && s.Executions <= 3 && s.Steps <= 60 {
			small++
		}
	}
	t.Logf("%d scripts kill their defects; %d of them with at most 2 nodes, 3 executions and 60 steps before quiet", shown, small)
	t.Logf("tally: defects_in_corpus=%d", shown)
}

// killed plays a script under its defect and says why it does not show it, "" if it does.
func killed(t *testing.T, saved *Saved) (size Size, why string) {
	t.Helper()
	sabotage.Set(saved.Defect)
	o, err := corpusStory(saved.Story).play(saved.Script(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rules := o.Rules(); !slices.Contains(rules, saved.Rule) {
		why = fmt.Sprintf("it should break %s and breaks %v", saved.Rule, rules)
		if stale := saved.Stale(o.Cluster.World, len(o.Cluster.World.choices)); stale != "" {
			why += "; " + stale
		}
	}
	return o.Size(), why
}

func scriptOf(d sabotage.Defect) string { return filepath.Join("testdata", "defect-"+d.Name+".dec") }

// renew writes the script of a defect, if random stories find it.
func renew(t *testing.T, d sabotage.Defect) {
	name := scriptOf(d)
	sabotage.Set(d.Name)
	for seed := uint64(1); seed <= 600; seed++ {
		for _, story := range []string{"TestSimCluster", "TestSimRich", "TestSimFamily"} {
			s := corpusStory(story)
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
			t.Logf("%s: %s, seed %d, %v", d.Name, story, seed, small)
			saved := small.To.Save()
			saved.Story, saved.Defect, saved.Rule, saved.From = story, d.Name, small.Rule, small.From.Size()
			if err := os.WriteFile(name, []byte(saved.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Logf("%s: no seed finds it", d.Name)
	os.Remove(name)
}
