//go:build !unix

package main

import "time"

// processorTime tells nothing here.
func processorTime() (used time.Duration, ok bool) { return 0, false }
