package sim

import (
	"os"
	"testing"
)

// variants are the rows of the table at the end of the design's list of races.
var variants = []struct {
	variant
	stuck, asleep, over bool // what must be found
}{
	{variant: variant{name: "as designed"}},
	{variant: variant{name: "without the reconcile claim", noReconcile: true}, stuck: true},
	{variant: variant{name: "park without the counter", blindPark: true}, stuck: true, asleep: true},
	{variant: variant{name: "finish without MailPending", blindEnd: true}, over: true},
	{variant: variant{name: "without mark, with reconcile", noMark: true}},
	{variant: variant{name: "without mark, without reconcile", noMark: true, noReconcile: true}, stuck: true},
}

// TestSimMailModel goes through every interleaving of two nodes and a poster over
// the real judge (race 3, race 4, race 5, race 6, race 26, race 38). Two faults
// take half a minute: LOOM_SIM_FAULTS=2.
func TestSimMailModel(t *testing.T) {
	faults := 1
	if os.Getenv("LOOM_SIM_FAULTS") == "2" {
		faults = 2
	}
	for _, c := range variants {
		t.Run(c.name, func(t *testing.T) {
			got := c.explore(faults)
			t.Logf("%d faults: %d states, %d stuck, %d asleep over mail, %d finished over mail", faults, got.states, got.stuck, got.asleep, got.over)
			t.Logf("tally: model_states=%d", got.states)
			if (got.stuck > 0) != c.stuck || (got.asleep > 0) != c.asleep || (got.over > 0) != c.over {
				t.Errorf("want stuck %v, asleep %v, finished over mail %v; after %d moves: %+v", c.stuck, c.asleep, c.over, got.distance, got.example)
			}
			if got.twice > 0 {
				t.Errorf("the message is recorded twice in %d states", got.twice)
			}
			if got.lost > 0 && !c.over {
				t.Errorf("the message is lost in %d states: %+v", got.lost, got.example)
			}
		})
	}
}
