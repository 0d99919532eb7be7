//go:build !linux && !darwin && !freebsd

package sqlite

// freeBytes does not know here.
func freeBytes(string) (int64, bool) { return 0, false }
