package sim

import (
	"fmt"
	"testing"
)

// FuzzSim plays small stories whose decisions are the fuzzer's bytes, and asks all the
// oracles: what the fuzzer learns of the code's branches leads it to other stories. It
// begins with stories of seeds.
func FuzzSim(f *testing.F) {
	s := corpusStory("FuzzSim")
	for seed := range uint64(16) {
		o, err := s.run(&Script{Seed: seed, Ask: true}, nil)
		if err != nil {
			f.Fatal(err)
		}
		if err := o.Error(); err != nil {
			f.Fatal(err)
		}
		f.Add(o.Cluster.World.Bytes())
	}
	f.Add([]byte{}) // all zeros: nothing goes wrong
	f.Fuzz(func(t *testing.T, decisions []byte) {
		o, err := s.run(&Script{Bytes: append([]byte{}, decisions...), Ask: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Error(); err != nil {
			saved := o.Save()
			saved.Story, saved.Rule = "FuzzSim", fmt.Sprint(o.Rules())
			t.Fatalf("%v\nas a script:\n%s", err, saved)
		}
	})
}
