//go:build !unix

package demo

import "os"

// openQuietly opens a file for reading.
func openQuietly(path string) (*os.File, error) { return os.Open(path) }
