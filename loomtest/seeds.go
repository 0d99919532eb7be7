package loomtest

import (
	"strings"
	"testing"
)

// Seeds runs a test's function n times, each in a new world and in another order. It stops
// at the first seed that fails, and says which it is and how to run it again. With the
// variable LOOMTEST_SEED set it runs that one alone.
func Seeds(t testing.TB, n int, fn func(e *Env)) {
	t.Helper()
	if seed, set := fixedSeed(t); set {
		run(t, seed, fn, nil)
		return
	}
	for seed := uint64(1); seed <= uint64(n); seed++ {
		run(t, seed, fn, nil)
		if t.Failed() {
			t.Fatalf("loomtest: seed %d of %d fails; %s", seed, n, repeat(t, seed))
		}
	}
}

// pattern returns what go test -run takes for a test's name.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + escape(p) + "$"
	}
	return strings.Join(parts, "/")
}

// escape makes a name stand for itself in a pattern.
func escape(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
