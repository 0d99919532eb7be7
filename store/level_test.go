package store_test

import (
	"errors"
	"testing"

	"github.com/loomwork/loom/store"
)

// claim A-34
func TestParseLevel(t *testing.T) {
	for text, want := range map[string]store.Level{"2.2.0": store.Level22, "2.3.0": store.Level23} {
		if got, err := store.ParseLevel(text); got != want || err != nil || got.String() != text {
			t.Errorf("ParseLevel(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2", "2.3", "2.3.0.0", "2.3.x", "2.03.0", "+2.3.0", " 2.3.0", "2.3.0\n", "-2.3.0", "2.-3.0", "2..0",
		"2.4.0", "1.3.0", "3.0.0", "2.3.1", "2.30.0", "v2.3.0", "99999999999999999999.0.0", "２.3.0"} {
		got, err := store.ParseLevel(text)
		var le *store.LevelError
		if !errors.As(err, &le) || le.Text != text || got != (store.Level{}) {
			t.Errorf("ParseLevel(%q) = %v, %v; want a LevelError", text, got, err)
		}
	}
	if l, err := store.ParseLevel(store.SPI); l != store.Level23 || err != nil {
		t.Errorf("SPI is %q: %v, %v", store.SPI, l, err)
	}
}

func TestLevelsCompareAsIntegers(t *testing.T) {
	order := []store.Level{{}, {Minor: 9}, {Major: 2, Minor: 2}, {Major: 2, Minor: 2, Patch: 10}, {Major: 2, Minor: 3}, {Major: 2, Minor: 10},
		{Major: 10}, {Major: 10, Patch: 1}}
	for i, a := range order {
		for j, b := range order {
			if got := a.AtLeast(b); got != (i >= j) {
				t.Errorf("%s at least %s: %v", a, b, got)
			}
		}
	}
}
