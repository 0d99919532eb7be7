package event

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// namesFile lists every name that was ever recorded: a kind on a line of its
// own, with the version since which it is written, and its fields below it.
var namesFile = filepath.Join("testdata", "names.golden")

// written returns the names that this build encodes, a field as "KIND field" or
// "KIND field.inner" and a kind as "KIND", in the order in which they are
// written.
func written(t *testing.T) (names []string) {
	t.Helper()
	for _, k := range Kinds() {
		names = append(names, string(k))
		for _, s := range samples() {
			if !s.full || s.p.Kind() != k {
				continue
			}
			err := object(Encode(s.p), func(key string, raw []byte) error {
				names = append(names, string(k)+" "+key)
				if key == "error" {
					for _, inner := range keysOf(t, raw) {
						names = append(names, string(k)+" "+key+"."+inner)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return names
}

// readNames returns name → since version, and the names in order.
func readNames(t *testing.T) (since map[string]string, order []string) {
	t.Helper()
	since = map[string]string{}
	text, err := os.ReadFile(namesFile)
	if os.IsNotExist(err) && *update {
		return since, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	kind := ""
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Fields(line)
		if len(parts) != 2 {
			t.Fatalf("%s:%d: want a name and a version: %q", namesFile, i+1, line)
		}
		name := parts[0]
		if line[0] == ' ' {
			name = kind + " " + name
		} else {
			kind = name
		}
		if since[name] != "" {
			t.Fatalf("%s:%d: %s stands twice", namesFile, i+1, name)
		}
		since[name] = parts[1]
		order = append(order, name)
	}
	return since, order
}

// TestRecordedNamesAreFrozen compares the names that this build writes with the
// golden file. -update adds new ones with this build's version; a name that was
// recorded once is never taken out, not even by -update.
func TestRecordedNamesAreFrozen(t *testing.T) {
	names := written(t)
	since, order := readNames(t)
	for _, n := range order {
		if !slices.Contains(names, n) {
			t.Errorf("%q was recorded since %s, and this build does not write it", n, since[n])
		}
	}
	if t.Failed() {
		return
	}
	var b strings.Builder
	b.WriteString("# Kinds, their fields in the order in which they are written, and the schema\n# version since which each is. Names are never removed or given another meaning.\n")
	for _, n := range names {
		v := since[n]
		if v == "" {
			v = SchemaVersion
			if !*update {
				t.Errorf("%q is new: run this test with -update, and mind the schema version", n)
			}
		}
		kind, field, isField := strings.Cut(n, " ")
		if isField {
			kind = "  " + field
		}
		fmt.Fprintf(&b, "%s %s\n", kind, v)
	}
	if *update {
		if err := os.WriteFile(namesFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(namesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != b.String() && !t.Failed() {
		t.Errorf("the order of the fields changed:\n%s", b.String())
	}
}

// TestKindsHaveTheirRoles pins what makes a turn and what a turn asks for:
// replay of every recorded log depends on it.
func TestKindsHaveTheirRoles(t *testing.T) {
	want := map[Role]string{
		Inbound: "EXECUTION_STARTED EXECUTION_CONTINUED EFFECT_COMPLETED EFFECT_FAILED TIMER_FIRED MESSAGE_RECEIVED CHILD_STARTED CHILD_SETTLED CANCEL_REQUESTED",
		Command: "EFFECT_SCHEDULED TIMER_SCHEDULED MESSAGE_AWAITED CHILD_SCHEDULED REQUEST_ANSWERED VERSION_MARKED STATE_SET EXECUTION_COMPLETED EXECUTION_FAILED EXECUTION_CANCELLED",
		Passive: "EFFECT_ATTEMPT_FAILED EFFECT_PROGRESSED OPERATOR_RECOVERED EXECUTION_PAUSED EXECUTION_RESUMED EXECUTION_TERMINATED",
	}
	got := map[Role][]string{}
	for _, k := range Kinds() {
		got[k.Role()] = append(got[k.Role()], string(k))
	}
	for role, names := range want {
		if strings.Join(got[role], " ") != names {
			t.Errorf("role %d: %v, want %s", role, got[role], names)
		}
	}
	if k := Kind("FROM_THE_FUTURE"); k.Role() != Passive || k.Known() {
		t.Errorf("an unknown kind: role %d, known %v", k.Role(), k.Known())
	}
}
