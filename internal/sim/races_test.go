package sim

import "testing"

// TestSimRaces plays each race of the list under a few seeds.
func TestSimRaces(t *testing.T) {
	for _, r := range Races() {
		t.Run(r.Name, func(t *testing.T) { r.Story(inMemory).Seeds(t, 20) })
	}
}
