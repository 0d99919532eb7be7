// Package helper is called by flows of another package.
package helper

import "os"

// Region returns where the process runs.
func Region() string { return os.Getenv("REGION") }
