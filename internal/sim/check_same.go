package sim

import "slices"

// Run is what two runs of one seed must agree about.
type Run struct {
	World   *World
	History *History
}

// Same is oracle O20: the same seed gives the same bytes. It names the first
// difference.
func Same(a, b Run) []Violation {
	vs := alike(a, b)
	if vs == nil && a.World.Digest() != b.World.Digest() {
		vs.add("O20", "", "the digests differ after the same decisions and the same logs")
	}
	return vs
}

// alike is the part of Same that two backends must agree about: the texts of their
// errors are in the digest, and are their own.
func alike(a, b Run) violations {
	var vs violations
	ca, cb := a.World.choices, b.World.choices
	for i := range min(len(ca), len(cb)) {
		if ca[i] != cb[i] {
			vs.add("O20", "", "decision %d is %d in one run and %d in the other", i, ca[i], cb[i])
			return vs
		}
	}
	if len(ca) != len(cb) {
		vs.add("O20", "", "%d decisions in one run, %d in the other", len(ca), len(cb))
		return vs
	}
	la, lb := a.History.lives(), b.History.lives()
	if len(la) != len(lb) {
		vs.add("O20", "", "%d executions in one run, %d in the other", len(la), len(lb))
		return vs
	}
	for i, l := range la {
		m := lb[i]
		if l.id != m.id || l.anchor != m.anchor || !slices.EqualFunc(l.log, m.log, func(x, y logged) bool { return x.Equal(y.Envelope) }) {
			vs.add("O20", l.id, "its logs differ: %s", firstDifference(l, m))
		}
	}
	return vs
}

func firstDifference(a, b *life) string {
	for i := range min(len(a.log), len(b.log)) {
		if x, y := a.log[i], b.log[i]; !x.Equal(y.Envelope) {
			return string(x.Kind) + " " + string(x.Payload) + " at " + x.ID() + ", " + string(y.Kind) + " " + string(y.Payload)
		}
	}
	return "one is longer, or another incarnation"
}
