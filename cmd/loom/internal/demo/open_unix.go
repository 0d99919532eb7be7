//go:build unix

package demo

import (
	"os"
	"syscall"
)

// openQuietly opens a file for reading without following a symbolic link in its
// place and without waiting for the other end of a pipe: what stands there may have
// changed since it was listed.
func openQuietly(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
