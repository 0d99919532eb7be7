package event

import "strings"

// FinalPath is the path of the branch in which an execution does what its body left
// to do at its end: cleanups and compensations. What that branch does stands below it.
// No name that a user chooses begins like this.
const FinalPath = "loom.final#1"

// Final reports whether the operation at path belongs to the final branch. A cancel
// does not reach it.
func Final(path string) bool { return strings.HasPrefix(path, FinalPath+"/") }
