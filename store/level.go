package store

import (
	"fmt"
	"strconv"
	"strings"
)

// Level is a version of the SPI that a store meets.
type Level struct{ Major, Minor, Patch int }

// Levels of this SPI. Level22 has no incarnations: its anchors are legacy ones.
var (
	Level22 = Level{2, 2, 0}
	Level23 = Level{2, 3, 0}
)

// LevelError reports a claim that is malformed or that this build does not
// know.
type LevelError struct{ Text string }

func (e *LevelError) Error() string {
	return fmt.Sprintf("store: %q is not a level of this SPI", e.Text)
}

// ParseLevel reads "2.3.0". The error is a [*LevelError]: malformed, or a level
// that this build does not know.
func ParseLevel(text string) (Level, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Level{}, &LevelError{text}
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || strconv.Itoa(v) != p {
			return Level{}, &LevelError{text}
		}
		n[i] = v
	}
	l := Level{n[0], n[1], n[2]}
	if l != Level22 && l != Level23 {
		return Level{}, &LevelError{text}
	}
	return l, nil
}

// AtLeast compares as integers.
func (l Level) AtLeast(o Level) bool {
	if l.Major != o.Major {
		return l.Major > o.Major
	}
	if l.Minor != o.Minor {
		return l.Minor > o.Minor
	}
	return l.Patch >= o.Patch
}

func (l Level) String() string { return fmt.Sprintf("%d.%d.%d", l.Major, l.Minor, l.Patch) }
