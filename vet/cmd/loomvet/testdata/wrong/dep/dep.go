// Package dep is another module's: what it does inside is not looked at.
package dep

import "time"

// Stamp returns the time.
func Stamp() time.Time { return time.Now() }
