package sim

import (
	"math/bits"
	"math/rand/v2"
)

// source answers choices: drawn from a seed, or read from a list or from bytes.
type source interface {
	next(site string, n int) int
}

// question is what was asked, for who keeps a list of the answers.
type question struct {
	site string
	n    int
}

// drawn is a source from a seed.
type drawn struct{ pcg *rand.PCG }

func newDrawn(seed uint64) drawn { return drawn{rand.NewPCG(seed, 0x6c6f6f6d)} }

func (d drawn) next(_ string, n int) int {
	hi, _ := bits.Mul64(d.pcg.Uint64(), uint64(n))
	return int(hi)
}

// recorded is a source from a list of earlier choices. Behind its end, and where
// a choice is too large for the question, the answer is the first option: a list
// that a shrinker cut is still a run.
type recorded struct {
	list []uint32
	at   int
}

func (r *recorded) next(_ string, n int) int {
	if r.at >= len(r.list) {
		return 0
	}
	c := int(r.list[r.at])
	r.at++
	if c >= n {
		return 0
	}
	return c
}

// bySite is a source from lists of earlier choices, one for each site: a question that
// is no longer asked does not shift the answers to the others.
type bySite map[string][]uint32

func (b bySite) next(site string, n int) int {
	list := b[site]
	if len(list) == 0 {
		return 0
	}
	b[site] = list[1:]
	if c := int(list[0]); c < n {
		return c
	}
	return 0
}

// Decide returns a number in [0, n): every choice in the world is one of its
// answers. site names the question. It is not a scheduling point, and a question
// with one answer is not asked.
func (w *World) Decide(site string, n int) int { return w.decide(site, n, false) }

// decide is Decide; with fromTop, the choices stand for the options in reverse, so that
// choice 0 is the last one. A seed draws the same option either way.
func (w *World) decide(site string, n int, fromTop bool) int {
	if n < 1 {
		panic("sim: " + site + ": a decision needs an option")
	}
	if n == 1 {
		return 0
	}
	c := w.source.next(site, n)
	if _, seeded := w.source.(drawn); seeded && fromTop {
		c = n - 1 - c
	}
	w.choices = append(w.choices, uint32(c))
	if w.opts.Ask {
		w.asked = append(w.asked, question{site, n})
		if !ofPolicy(site) {
			w.flat = append(w.flat, uint32(c))
		}
	}
	w.mixString(site)
	w.mix(uint64(n)<<32 | uint64(c))
	if fromTop {
		c = n - 1 - c
	}
	return c
}

// thousand is of how many cases a chance is reckoned.
const thousand = 1000

// Chance is true in perMille of a thousand cases; choice 0 is a case in which it is not.
func (w *World) Chance(site string, perMille int) bool {
	if perMille <= 0 {
		return false
	}
	return w.decide(site, thousand, true) < perMille
}

// Choose implements fault.Chooser: what is asked in thousandths has its faults among the
// low numbers, so that choice 0 makes none.
func (w *World) Choose(site string, n int) int { return w.decide(site, n, n == thousand) }

// Flat returns the choices that repeat the run under the uniform policy, whatever its own
// was. It needs [Options.Ask] and is for a world without [Options.Policy].
func (w *World) Flat() []uint32 { return append([]uint32{0}, w.flat...) }

// Choices returns the answers so far. The caller owns the slice; given back as
// [Options.Choices] it repeats the run.
func (w *World) Choices() []uint32 { return append([]uint32(nil), w.choices...) }

// Digest is a hash of every decision, every step and every note so far: two runs
// that did the same have the same.
func (w *World) Digest() uint64 { return w.digest }

func (w *World) mix(x uint64) {
	w.digest = bits.RotateLeft64(w.digest^x, 27) * 0x9e3779b97f4a7c15
}

func (w *World) mixString(s string) { w.mix(hashString(s)) }

// hashString is FNV-1a: the same in every process, unlike maphash.
func hashString(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}
