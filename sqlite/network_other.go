//go:build !linux

package sqlite

// network does not know here.
func network(string) string { return "" }
