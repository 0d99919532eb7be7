package coalesce

// Bisect finds what spoils a piece of work of n parts that failed as a whole and left
// nothing behind. It calls try with pieces [from, to) from left to right until each
// part is in a piece that went well, or was tried by itself. try reports whether the
// piece went well, and leaves nothing of it behind otherwise.
//
// Of n parts with one guilty one, try is called at most 2·⌈log₂ n⌉ times; if all are
// guilty, n + ⌈log₂ n⌉ times at most.
func Bisect(n int, try func(from, to int) bool) {
	if n > 1 {
		b := bisection{try: try}
		b.halves(0, n, true)
	}
}

type bisection struct {
	try  func(from, to int) bool
	good bool // some piece went well
	bad  int  // parts that failed by themselves
}

// piece carries out a piece and reports whether all of it went well. spoilt says that
// it is known to hold something guilty.
func (b *bisection) piece(from, to int, spoilt bool) bool {
	// As long as nothing goes well, what is left will not go well as a whole.
	single, desperate := to-from == 1, b.bad > 1 && !b.good
	if !single && (spoilt || desperate) {
		return b.halves(from, to, spoilt)
	}
	if b.try(from, to) {
		b.good = true
		return true
	}
	if single {
		b.bad++
		return false
	}
	return b.halves(from, to, true)
}

func (b *bisection) halves(from, to int, spoilt bool) bool {
	mid := from + (to-from)/2
	left := b.piece(from, mid, false)
	// What is wrong with a spoilt piece is in its right half, if the left one is clean.
	right := b.piece(mid, to, spoilt && left)
	return left && right
}
