package event

import (
	"strconv"
	"strings"
)

// FinalPath is the path, within its generation, of the branch in which an execution does
// what its body left to do at its end: cleanups and compensations. What that branch does
// stands below it. No name that a user chooses begins like this.
const FinalPath = "loom.final#1"

// generationPath begins the path of a generation.
const generationPath = "loom.generation#"

// GenerationPath returns the path of what a generation's body does: "" for the first, so
// that only executions that continued have it in their logs.
func GenerationPath(generation int) string {
	if generation <= 1 {
		return ""
	}
	return generationPath + strconv.Itoa(generation)
}

// Final reports whether the operation at path belongs to the final branch of its
// generation. A cancel does not reach it.
func Final(path string) bool {
	if strings.HasPrefix(path, generationPath) {
		_, path, _ = strings.Cut(path, "/")
	}
	return strings.HasPrefix(path, FinalPath+"/")
}
