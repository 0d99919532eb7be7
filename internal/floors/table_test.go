package floors

import "strings"

// A floor is where a package stands in the house, lowest 0. A package imports
// from lower floors, and from its own only what its row lists.
type floor struct {
	level int
	// name of a package below the module path; "x/..." is x and all below it,
	// which may import each other.
	name string
	// beside lists packages of the same floor that it may import.
	beside []string
	// only, where set, lists everything of Loom that it may import outside of its
	// tests.
	only []string
}

// decorators are the packages under store/ that change what a store does.
var decorators = []string{
	"store/fault", "store/coalesce", "store/tenant", "store/shard", "store/encrypt",
	"store/offload", "store/audit", "store/profile", "store/replica",
}

// house is the table of floors. Packages that are planned stand in it already;
// one that is missing fails the test, so that somebody decides where it stands.
var house = append([]floor{
	{level: 0, name: "event"},
	{level: 0, name: "internal/rt"},
	{level: 0, name: "internal/sabotage"},

	{level: 1, name: "fold"},
	{level: 1, name: "store"},
	{level: 1, name: "internal/composed", only: []string{"event"}},

	{level: 2, name: "store/memstore"},
	{level: 2, name: "store/storetest/...", only: []string{"event", "store"}},

	{level: 3, name: "internal/kernel", only: []string{"event", "internal/rt", "internal/sabotage", "fold", "store"}},

	{level: 4, name: "loom"},
	{level: 4, name: "decide", beside: []string{"loom"}},
	{level: 4, name: "lifecycle", beside: []string{"loom"}},
	{level: 4, name: "readmodel", beside: []string{"loom"}},

	{level: 5, name: "schedule"},
	{level: 5, name: "dispatch"},

	{level: 6, name: "internal/sim/..."},
	{level: 6, name: "loomtest", beside: []string{"internal/sim/..."}},

	{level: 7, name: "sqlite/...", only: []string{"event", "store", "store/coalesce"}},
	{level: 7, name: "postgres/...", only: []string{"event", "store"}},

	{level: 8, name: "cmd/loom/...", beside: []string{"vet/..."}},
	{level: 8, name: "bench/..."},
	{level: 8, name: "examples/..."},
	{level: 8, name: "policy/..."},
	{level: 8, name: "vet/..."},
	{level: 8, name: "internal/oracle/..."},

	// What looks at the source and is no part of the product.
	{level: 9, name: "internal/promise", only: []string{}},
	{level: 10, name: "internal/tally", only: []string{"internal/promise"}},
	{level: 10, name: "internal/floors", only: []string{}},
}, decoratorFloors()...)

func decoratorFloors() (fs []floor) {
	for _, d := range decorators {
		fs = append(fs, floor{level: 2, name: d})
	}
	return fs
}

// floorOf returns the row of a package, nil if there is none.
func floorOf(name string) *floor {
	for i := range house {
		if within(name, house[i].name) {
			return &house[i]
		}
	}
	return nil
}

// within reports whether a package is what a row's name says.
func within(name, row string) bool {
	if tree, ok := strings.CutSuffix(row, "/..."); ok {
		return name == tree || strings.HasPrefix(name, tree+"/")
	}
	return name == row
}

func isDecorator(name string) bool {
	for _, d := range decorators {
		if name == d {
			return true
		}
	}
	return false
}
