package sabotage

import "testing"

func TestDefectsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Defects() {
		if d.Name == "" || d.Where == "" || d.What == "" || seen[d.Name] {
			t.Errorf("defect %+v", d)
		}
		seen[d.Name] = true
		if On(d.Name) {
			t.Errorf("%s is on though nobody asked", d.Name)
		}
	}
}
