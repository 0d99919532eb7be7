//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns what this process has used of all processors so far; ok is false
// where the system does not tell.
func processorTime() (used time.Duration, ok bool) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
