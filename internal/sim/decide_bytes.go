package sim

// fromBytes is a source from bytes, as a fuzzer hands them over: a question takes one
// byte, two or four, by how many options it has. Behind the end all answers are 0.
type fromBytes struct{ left []byte }

func (b *fromBytes) next(_ string, n int) int {
	c := uint64(0)
	for i := range width(n) {
		if len(b.left) > 0 {
			c |= uint64(b.left[0]) << (8 * i)
			b.left = b.left[1:]
		}
	}
	return int(c % uint64(n))
}

// width is how many bytes an answer to a question with n options takes.
func width(n int) int {
	switch {
	case n <= 1<<8:
		return 1
	case n <= 1<<16:
		return 2
	}
	return 4
}

// Bytes returns the answers so far as [Options.Bytes] takes them, without the zeros at
// the end. It needs [Options.Ask].
func (w *World) Bytes() []byte {
	var out []byte
	for i, q := range w.asked {
		for k := range width(q.n) {
			out = append(out, byte(w.choices[i]>>(8*k)))
		}
	}
	for len(out) > 0 && out[len(out)-1] == 0 {
		out = out[:len(out)-1]
	}
	return out
}
