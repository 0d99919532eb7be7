package rt

// Goroutine returns a number that tells the running goroutine from every other that
// lives. One that has ended may have had the same.
//
// It is for one thing: to notice that a verb was called from a goroutine which the body
// started by itself. To walk the stack for that cost half of what a step costs.
func Goroutine() uintptr { return goroutine() }
